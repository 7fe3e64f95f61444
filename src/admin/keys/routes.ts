import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import type { View } from '../http/view.ts';
import { HistoryList } from '../operators/history-schema.ts';
import type { AdminService } from '../service.ts';
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
} from './schema.ts';
import { withoutText } from './view.ts';

/** More than a kilobyte for each of the keys that one import may have. */
const IMPORT_BYTES_MAX = 8_388_608;

const CHANGE = {
  before: (admin: AdminService, { id }: { readonly id: string }) => admin.keys.show(id),
  after: withoutText,
};

/** What was added, and why, beside the state after it. */
export function withCredit(
  answer: object,
  { body: { amount, note, entry_id } }: { readonly body: View<typeof CreditBody> },
): object {
  return { ...answer, amount: String(amount), ...(note != null && { note }), ...(entry_id != null && { entry_id }) };
}

export const KEY_ROUTES = {
  createKey: route({
    at: 'POST /keys',
    roles: OPERATORS,
    accountAdmin: 'own',
    action: 'key.create',
    recorded: { after: withoutText, made: ({ id }) => id },
    summary: 'Create a key',
    body: NewKeyBody,
    status: 201,
    answer: CreatedKey,
    handle: (admin, { body }) => admin.keys.create(body),
  }),
  importKeys: route({
    at: 'POST /keys/import',
    roles: OPERATORS,
    action: 'key.import',
    recorded: { after: ({ keys }) => ({ keys }) },
    summary: 'Create many keys, all or none',
    body: KeyImportBody,
    bodyLimit: IMPORT_BYTES_MAX,
    status: 201,
    answer: ImportedKeys,
    handle: (admin, { body }) => admin.keys.import(body),
  }),
  listKeys: route({
    at: 'GET /keys',
    roles: VIEWERS,
    accountAdmin: 'own',
    summary: 'Keys, newest first',
    query: KeyQuery,
    answer: KeyList,
    handle: (admin, { query }) => admin.keys.find(query),
  }),
  showKey: route({
    at: 'GET /keys/:id',
    roles: VIEWERS,
    accountAdmin: 'key',
    summary: 'One key with its balance',
    answer: Key,
    handle: (admin, { id }) => admin.keys.show(id),
  }),
  keyHistory: route({
    at: 'GET /keys/:id/history',
    roles: VIEWERS,
    summary: 'What was done to a key, and what was refunded of its requests, newest first',
    answer: HistoryList,
    handle: async (admin, { id }) => {
      await admin.keys.summary(id);
      return admin.history.of(id);
    },
  }),
  changeKey: route({
    at: 'PATCH /keys/:id',
    roles: OPERATORS,
    accountAdmin: 'key',
    action: 'key.change',
    recorded: CHANGE,
    summary: 'Change the given fields; with If-Match, only if the key has not been changed in the meantime',
    ifMatch: true,
    body: KeyChangeBody,
    answer: Key,
    handle: (admin, { id, body, version }) => admin.keys.change(id, body, version),
  }),
  revokeKey: route({
    at: 'DELETE /keys/:id',
    roles: OPERATORS,
    accountAdmin: 'key',
    action: 'key.revoke',
    recorded: CHANGE,
    summary: 'Revoke a key',
    ifMatch: true,
    answer: Key,
    handle: (admin, { id, version }) => admin.keys.change(id, { status: 'revoked' }, version),
  }),
  addCredit: route({
    at: 'POST /keys/:id/credit',
    roles: OPERATORS,
    action: 'key.credit',
    recorded: { ...CHANGE, after: withCredit },
    summary: 'Add credit',
    body: CreditBody,
    answer: Key,
    handle: (admin, { id, body }) => admin.keys.addCredit(id, body),
  }),
  addSecret: route({
    at: 'POST /keys/:id/secrets',
    roles: OPERATORS,
    accountAdmin: 'key',
    action: 'key.secret.add',
    recorded: CHANGE,
    summary: 'Add a secret to a key; the older ones keep working',
    status: 201,
    answer: CreatedKey,
    handle: (admin, { id }) => admin.keys.addSecret(id),
  }),
  revokeSecret: route({
    at: 'DELETE /keys/:id/secrets/:prefix',
    roles: OPERATORS,
    accountAdmin: 'key',
    action: 'key.secret.revoke',
    recorded: CHANGE,
    summary: 'Revoke one secret of a key that has several',
    answer: Key,
    handle: (admin, { id, prefix }) => admin.keys.revokeSecret(id, prefix),
  }),
};
