import { Type } from '../../lib/schema-builder.ts';
import type { AdminApp } from '../http/framework.ts';
import {
  Account,
  AccountChangeBody,
  AccountKeyBody,
  AccountList,
  AccountMoveBody,
  NewAccountBody,
} from '../schema/accounts.ts';
import { CreditBody } from '../schema/keys.ts';
import type { AdminService } from '../service.ts';

const AccountPath = Type.Object({ id: Type.String() });

export function addAccountRoutes(app: AdminApp, { accounts }: AdminService): void {
  app.post(
    '/accounts',
    { schema: { summary: 'Create an account', body: NewAccountBody, response: { 201: Account } } },
    async ({ body }, reply) => reply.code(201).send(await accounts.create(body)),
  );

  app.get(
    '/accounts',
    { schema: { summary: 'All accounts, oldest first', response: { 200: AccountList } } },
    async () => ({ object: 'list' as const, data: await accounts.list() }),
  );

  app.get(
    '/accounts/:id',
    { schema: { summary: 'One account with its sums', params: AccountPath, response: { 200: Account } } },
    async ({ params }) => accounts.show(params.id),
  );

  app.patch(
    '/accounts/:id',
    {
      schema: {
        summary: 'Change the given fields',
        params: AccountPath,
        body: AccountChangeBody,
        response: { 200: Account },
      },
    },
    async ({ params, body }) => accounts.change(params.id, body),
  );

  app.post(
    '/accounts/:id/move',
    {
      schema: {
        summary: 'Move an account below another one of the same root',
        params: AccountPath,
        body: AccountMoveBody,
        response: { 200: Account },
      },
    },
    async ({ params, body }) => accounts.move(params.id, body),
  );

  app.post(
    '/accounts/:id/credit',
    {
      schema: { summary: 'Add credit to a root', params: AccountPath, body: CreditBody, response: { 200: Account } },
    },
    async ({ params, body }) => accounts.addCredit(params.id, body),
  );

  app.post(
    '/accounts/:id/keys',
    {
      schema: {
        summary: 'Put a key under the account; one that paid for itself brings its balance to the root',
        params: AccountPath,
        body: AccountKeyBody,
        response: { 200: Account },
      },
    },
    async ({ params, body }) => accounts.addKey(params.id, body),
  );
}
