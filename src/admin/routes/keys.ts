import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from '../../lib/schema-builder.ts';
import { AdminError, type KeyView } from '../api.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS, OPERATORS_AND_ACCOUNTS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import { CreatedKey, CreditBody, Key, KeyChangeBody, KeyList, KeyQuery, NewKeyBody } from '../schema/keys.ts';
import type { AdminService } from '../service.ts';

const KeyPath = Type.Object({ id: Type.String() });
const SecretPath = Type.Object({ id: Type.String(), prefix: Type.String() });

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
      schema: { summary: 'Revoke a key', params: KeyPath, response: { 200: Key } },
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

/** The answer with the `ETag` of the key that it shows. */
function tagged<View extends KeyView>(reply: FastifyReply, key: View): View {
  void reply.header('etag', `"${key.version}"`);
  return key;
}

/** The version that `If-Match` names. */
function versionIn({ headers }: FastifyRequest): number | undefined {
  const tag = headers['if-match'];
  if (tag === undefined || tag === '*') return undefined;
  const version = /^"([0-9]{1,15})"$/.exec(tag)?.[1];
  if (version !== undefined) return Number(version);
  throw new AdminError('invalid_input', `If-Match must be one ETag of a key, like "3" (with the quotes), or *`);
}
