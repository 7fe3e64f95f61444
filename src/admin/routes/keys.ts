import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { IfMatch, tagged, versionIn } from '../http/if-match.ts';
import { OPERATORS, OPERATORS_AND_ACCOUNTS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import {
  CreatedKey,
  CreditBody,
  ImportedKeys,
  Key,
  KeyChangeBody,
  KeyImportBody,
  KeyList,
  KeyQuery,
  NewKeyBody,
} from '../schema/keys.ts';
import type { AdminService } from '../service.ts';

const KeyPath = Type.Object({ id: Type.String() });
const SecretPath = Type.Object({ id: Type.String(), prefix: Type.String() });

/** More than a kilobyte for each of the keys that one import may have. */
const IMPORT_BYTES_MAX = 8_388_608;

export function addKeyRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/keys',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'key.create' },
      schema: { summary: 'Create a key', body: NewKeyBody, response: { 201: CreatedKey } },
    },
    async (request, reply) =>
      reply.code(201).send(tagged(reply, await acting(service, request).createKey(request.body))),
  );

  app.post(
    '/keys/import',
    {
      config: { roles: OPERATORS, action: 'key.import' },
      bodyLimit: IMPORT_BYTES_MAX,
      schema: { summary: 'Create many keys, all or none', body: KeyImportBody, response: { 201: ImportedKeys } },
    },
    async (request, reply) => reply.code(201).send(await acting(service, request).importKeys(request.body)),
  );

  app.get(
    '/keys',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: { summary: 'Keys, newest first', querystring: KeyQuery, response: { 200: KeyList } },
    },
    async (request) => acting(service, request).findKeys(request.query),
  );

  app.get(
    '/keys/:id',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: { summary: 'One key with its balance', params: KeyPath, response: { 200: Key } },
    },
    async (request, reply) => tagged(reply, await acting(service, request).showKey(request.params.id)),
  );

  app.patch(
    '/keys/:id',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'key.change' },
      schema: {
        summary: 'Change the given fields; with If-Match, only where nobody has changed the key meanwhile',
        params: KeyPath,
        headers: IfMatch,
        body: KeyChangeBody,
        response: { 200: Key },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return tagged(reply, await acting(service, request).changeKey(params.id, body, versionIn(request)));
    },
  );

  app.delete(
    '/keys/:id',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'key.revoke' },
      schema: { summary: 'Revoke a key', params: KeyPath, headers: IfMatch, response: { 200: Key } },
    },
    async (request, reply) =>
      tagged(reply, await acting(service, request).revokeKey(request.params.id, versionIn(request))),
  );

  app.post(
    '/keys/:id/credit',
    {
      config: { roles: OPERATORS, action: 'key.credit' },
      schema: { summary: 'Add credit', params: KeyPath, body: CreditBody, response: { 200: Key } },
    },
    async (request, reply) => tagged(reply, await acting(service, request).addCredit(request.params.id, request.body)),
  );

  app.post(
    '/keys/:id/secrets',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'key.secret.add' },
      schema: {
        summary: 'Add a secret to a key; the older ones keep working',
        params: KeyPath,
        response: { 201: CreatedKey },
      },
    },
    async (request, reply) =>
      reply.code(201).send(tagged(reply, await acting(service, request).addSecret(request.params.id))),
  );

  app.delete(
    '/keys/:id/secrets/:prefix',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'key.secret.revoke' },
      schema: { summary: 'Revoke one secret of a key that has several', params: SecretPath, response: { 200: Key } },
    },
    async (request, reply) => {
      const { id, prefix } = request.params;
      return tagged(reply, await acting(service, request).revokeSecret(id, prefix));
    },
  );
}
