import { OPERATORS, OWNERS, VIEWERS } from '../http/roles.ts';
import { AS_ANSWERED, route } from '../http/route.ts';
import { withCredit } from '../keys/routes.ts';
import { CreditBody } from '../keys/schema.ts';
import { HistoryList } from '../operators/history-schema.ts';
import type { AdminService } from '../service.ts';
import { eraseAccount } from './erase.ts';
import {
  Account,
  AccountChangeBody,
  AccountKeyBody,
  AccountList,
  AccountMoveBody,
  AccountQuery,
  EraseBody,
  ErasedAccount,
  NewAccountBody,
} from './schema.ts';

const CHANGE = {
  before: (admin: AdminService, { id }: { readonly id: string }) => admin.accounts.show(id),
  ...AS_ANSWERED,
};

export const ACCOUNT_ROUTES = {
  createAccount: route({
    at: 'POST /accounts',
    roles: OPERATORS,
    accountAdmin: 'own',
    action: 'account.create',
    recorded: { ...AS_ANSWERED, made: ({ id }) => id },
    summary: 'Create an account',
    body: NewAccountBody,
    status: 201,
    answer: Account,
    handle: (admin, { body }) => admin.accounts.create(body),
  }),
  listAccounts: route({
    at: 'GET /accounts',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Accounts, oldest first',
    query: AccountQuery,
    answer: AccountList,
    handle: (admin, { query }) => admin.accounts.find(query),
  }),
  showAccount: route({
    at: 'GET /accounts/:id',
    roles: VIEWERS,
    accountAdmin: 'account',
    summary: 'One account with its sums',
    answer: Account,
    handle: (admin, { id }) => admin.accounts.show(id),
  }),
  accountHistory: route({
    at: 'GET /accounts/:id/history',
    roles: VIEWERS,
    summary: 'What was done to an account, and what was refunded to it, newest first',
    answer: HistoryList,
    handle: async (admin, { id }) => {
      await admin.accounts.summary(id);
      return admin.history.of(id);
    },
  }),
  changeAccount: route({
    at: 'PATCH /accounts/:id',
    roles: OPERATORS,
    accountAdmin: 'account',
    action: 'account.change',
    recorded: CHANGE,
    summary: 'Change the given fields; with If-Match, only if the account has not been changed in the meantime',
    ifMatch: true,
    body: AccountChangeBody,
    answer: Account,
    handle: (admin, { id, body, version }) => admin.accounts.change(id, body, version),
  }),
  eraseAccount: route({
    at: 'POST /accounts/:id/erase',
    roles: OWNERS,
    action: 'account.erase',
    // Not the name, which would stay in the trail.
    recorded: AS_ANSWERED,
    summary: 'Erase the data of a customer: names and the request log go, the entries of the ledger stay',
    body: EraseBody,
    answer: ErasedAccount,
    handle: (admin, { id, body }) => eraseAccount(admin, id, body),
  }),
  moveAccount: route({
    at: 'POST /accounts/:id/move',
    roles: OPERATORS,
    accountAdmin: 'account',
    action: 'account.move',
    recorded: CHANGE,
    summary: 'Move an account below another one of the same root',
    body: AccountMoveBody,
    answer: Account,
    handle: (admin, { id, body }) => admin.accounts.move(id, body),
  }),
  addAccountCredit: route({
    at: 'POST /accounts/:id/credit',
    roles: OPERATORS,
    action: 'account.credit',
    recorded: { ...CHANGE, after: withCredit },
    summary: 'Add credit to a root',
    body: CreditBody,
    answer: Account,
    handle: (admin, { id, body }) => admin.accounts.addCredit(id, body),
  }),
  addAccountKey: route({
    at: 'POST /accounts/:id/keys',
    roles: OPERATORS,
    accountAdmin: 'account',
    action: 'account.key',
    recorded: CHANGE,
    summary: 'Move a key to the account; its own balance, if any, goes to the root',
    body: AccountKeyBody,
    answer: Account,
    handle: (admin, { id, body }) => admin.accounts.addKey(id, body),
  }),
};
