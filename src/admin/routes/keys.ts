import { Type } from '../../lib/schema-builder.ts';
import type { AdminApp } from '../http/framework.ts';
import { CreatedKey, CreditBody, Key, KeyChangeBody, KeyList, NewKeyBody } from '../schema/keys.ts';
import type { AdminService } from '../service.ts';

const KeyPath = Type.Object({ id: Type.String() });
const SecretPath = Type.Object({ id: Type.String(), prefix: Type.String() });

export function addKeyRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/keys',
    { schema: { summary: 'Create a key', body: NewKeyBody, response: { 201: CreatedKey } } },
    async ({ body }, reply) => reply.code(201).send(await service.createKey(body)),
  );

  app.get('/keys', { schema: { summary: 'All keys, newest first', response: { 200: KeyList } } }, async () => ({
    object: 'list' as const,
    data: await service.listKeys(),
  }));

  app.get(
    '/keys/:id',
    { schema: { summary: 'One key with its balance', params: KeyPath, response: { 200: Key } } },
    async ({ params }) => service.showKey(params.id),
  );

  app.patch(
    '/keys/:id',
    { schema: { summary: 'Change the given fields', params: KeyPath, body: KeyChangeBody, response: { 200: Key } } },
    async ({ params, body }) => service.changeKey(params.id, body),
  );

  app.delete(
    '/keys/:id',
    { schema: { summary: 'Revoke a key', params: KeyPath, response: { 200: Key } } },
    async ({ params }) => service.changeKey(params.id, { status: 'revoked' }),
  );

  app.post(
    '/keys/:id/credit',
    { schema: { summary: 'Add credit', params: KeyPath, body: CreditBody, response: { 200: Key } } },
    async ({ params, body }) => service.addCredit(params.id, body),
  );

  app.post(
    '/keys/:id/secrets',
    {
      schema: {
        summary: 'Add a secret to a key; the older ones keep working',
        params: KeyPath,
        response: { 201: CreatedKey },
      },
    },
    async ({ params }, reply) => reply.code(201).send(await service.addSecret(params.id)),
  );

  app.delete(
    '/keys/:id/secrets/:prefix',
    { schema: { summary: 'Revoke one secret of a key that has several', params: SecretPath, response: { 200: Key } } },
    async ({ params }) => service.revokeSecret(params.id, params.prefix),
  );
}
