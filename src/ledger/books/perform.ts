/** Which operations both stores do alike, and how. */
import type { Operation, OperationName, OperationOf, Outcome } from '../operations.ts';
import { listAccounts } from './account-list.ts';
import { addAccountCredit, changeAccount, createAccount, joinAccount, moveAccount, moveKey } from './accounts.ts';
import { audit } from './audit.ts';
import type { Books } from './books.ts';
import type { Reading } from './dialect.ts';
import { getDocument, putDocument } from './documents.ts';
import { credited, findCharge } from './entries.ts';
import { expiringKeys, keyIds, listKeys } from './key-list.ts';
import { addCredit, addSecret, changeKey, createKey, createKeys, getKey, revokeSecret } from './keys.ts';
import { correct, openPromotions, refund } from './money.ts';
import { appendRuns, cancelRun, deleteRun, endRun, findRun, readRun } from './runs.ts';
import { statement } from './statement.ts';
import type { Work } from './work.ts';

type Handlers<W, N extends OperationName> = {
  readonly [K in N]: (given: W, operation: OperationOf<K>) => Work<Outcome<K>>;
};

type ReportName = 'audit' | 'findCharge' | 'keyIds' | 'listAccounts' | 'listKeys' | 'statement';
export type ReportOperation = Extract<Operation, { op: ReportName }>;

/** They read a lot, and change nothing. */
const REPORTS: Handlers<Reading, ReportName> = {
  audit: (reading) => audit(reading),
  findCharge: ({ dialect }, { requestId }) => findCharge(dialect, requestId),
  keyIds: ({ dialect }, { accountId, below = false }) => keyIds(dialect, accountId, below),
  listAccounts: (reading, { query }) => listAccounts(reading, query),
  listKeys: (reading, { query }) => listKeys(reading, query),
  statement: (reading, { id, sinceMs, untilMs }) => statement(reading, id, sinceMs, untilMs),
};

const HANDLERS = {
  ...REPORTS,
  addAccountCredit: (books, { accountId, ...given }) => addAccountCredit(books, accountId, given),
  addCredit: (books, { keyId, ...given }) => addCredit(books, keyId, given),
  appendRuns: (_, { runs }) => appendRuns(runs),
  cancelRun: ({ nowMs }, { keyId, id }) => cancelRun(keyId, id, nowMs),
  deleteRun: (_, { keyId, id }) => deleteRun(keyId, id),
  credited: (_, { id }) => credited(id),
  endRun: ({ nowMs }, { keyId, end }) => endRun(keyId, end, nowMs),
  findRun: ({ nowMs }, { keyId, name }) => findRun(keyId, name, nowMs),
  readRun: (_, { keyId, id, after, bytesMax }) => readRun(keyId, id, after, bytesMax),
  addSecret: (books, { keyId, digest, prefix }) => addSecret(books, keyId, digest, prefix),
  changeAccount: (books, { accountId, change }) => changeAccount(books, accountId, change),
  changeKey: (books, { keyId, change }) => changeKey(books, keyId, change),
  correct: (books, { request }) => correct(books, request),
  createAccount: (books, { request }) => createAccount(books, request),
  createKey: (books, { request }) => createKey(books, request),
  createKeys: (books, { requests }) => createKeys(books, requests),
  expiringKeys: (_, { after, untilMs, limit }) => expiringKeys(after, untilMs, limit),
  getAccount: (books, { accountId }) => books.shownAccount(accountId),
  getDocument: (_, { name }) => getDocument(name),
  getKey: (books, { keyId }) => getKey(books, keyId),
  joinAccount: (books, { keyId, accountId, entryId }) => joinAccount(books, keyId, accountId, entryId),
  moveAccount: (books, { accountId, parentId }) => moveAccount(books, accountId, parentId),
  moveKey: (books, { keyId, accountId }) => moveKey(books, keyId, accountId),
  promotions: (books, { id }) => openPromotions(books, id),
  putDocument: ({ nowMs }, { name, value }) => putDocument(name, value, nowMs),
  refund: (books, { request }) => refund(books, request),
  revokeSecret: (books, { keyId, prefix }) => revokeSecret(books, keyId, prefix),
} satisfies Partial<Handlers<Books, OperationName>>;

export type BooksName = keyof typeof HANDLERS;
export type BooksOperation = Extract<Operation, { op: BooksName }>;

export function isReport(operation: Operation): operation is ReportOperation {
  return operation.op in REPORTS;
}

export function reportOf(reading: Reading, operation: ReportOperation): Work<Outcome> {
  // The name and the rest of an operation belong together, which the compiler does not follow.
  return (REPORTS[operation.op] as (reading: Reading, operation: Operation) => Work<Outcome>)(reading, operation);
}

export function workOf(books: Books, operation: BooksOperation): Work<Outcome> {
  return (HANDLERS[operation.op] as (books: Books, operation: Operation) => Work<Outcome>)(books, operation);
}
