import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { IfMatch, tagged, versionIn } from '../http/if-match.ts';
import { OPERATORS, OPERATORS_AND_ACCOUNTS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import {
  Account,
  AccountChangeBody,
  AccountKeyBody,
  AccountList,
  AccountMoveBody,
  AccountQuery,
  NewAccountBody,
} from '../schema/accounts.ts';
import { CreditBody } from '../schema/keys.ts';
import type { AdminService } from '../service.ts';

const AccountPath = Type.Object({ id: Type.String() });

export function addAccountRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/accounts',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.create' },
      schema: { summary: 'Create an account', body: NewAccountBody, response: { 201: Account } },
    },
    async (request, reply) =>
      reply.code(201).send(tagged(reply, await acting(service, request).accounts.create(request.body))),
  );

  app.get(
    '/accounts',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: { summary: 'Accounts, oldest first', querystring: AccountQuery, response: { 200: AccountList } },
    },
    async (request) => acting(service, request).accounts.find(request.query),
  );

  app.get(
    '/accounts/:id',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: { summary: 'One account with its sums', params: AccountPath, response: { 200: Account } },
    },
    async (request, reply) => tagged(reply, await acting(service, request).accounts.show(request.params.id)),
  );

  app.patch(
    '/accounts/:id',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.change' },
      schema: {
        summary: 'Change the given fields; with If-Match, only where nobody has changed the account meanwhile',
        params: AccountPath,
        headers: IfMatch,
        body: AccountChangeBody,
        response: { 200: Account },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return tagged(reply, await acting(service, request).accounts.change(params.id, body, versionIn(request)));
    },
  );

  app.post(
    '/accounts/:id/move',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.move' },
      schema: {
        summary: 'Move an account below another one of the same root',
        params: AccountPath,
        body: AccountMoveBody,
        response: { 200: Account },
      },
    },
    async (request, reply) =>
      tagged(reply, await acting(service, request).accounts.move(request.params.id, request.body)),
  );

  app.post(
    '/accounts/:id/credit',
    {
      config: { roles: OPERATORS, action: 'account.credit' },
      schema: { summary: 'Add credit to a root', params: AccountPath, body: CreditBody, response: { 200: Account } },
    },
    async (request, reply) =>
      tagged(reply, await acting(service, request).accounts.addCredit(request.params.id, request.body)),
  );

  app.post(
    '/accounts/:id/keys',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.key' },
      schema: {
        summary: 'Put a key under the account; one that paid for itself brings its balance to the root',
        params: AccountPath,
        body: AccountKeyBody,
        response: { 200: Account },
      },
    },
    async (request, reply) =>
      tagged(reply, await acting(service, request).accounts.addKey(request.params.id, request.body)),
  );
}
