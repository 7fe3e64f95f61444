/** What PostgreSQL's store does for an operator's operations, each in a transaction of its own. */
import type { AccountOperation, Operation, OperationName, OperationOf, Outcome } from '../operations.ts';
import { ACCOUNT_OPERATIONS } from '../port-accounts.ts';
import { performOnAccounts } from './accounts.ts';
import { audit } from './audit.ts';
import { getDocument, putDocument } from './documents.ts';
import type { HotName } from './encode.ts';
import { keyIds, listKeys } from './key-list.ts';
import {
  addCredit,
  addSecret,
  changeKey,
  createKey,
  createKeys,
  expiringKeys,
  getKey,
  revokeSecret,
  type Work,
} from './keys.ts';
import { correct, findCharge, openPromotions, refund } from './money.ts';
import type { ResponseOperation } from './responses.ts';
import { statement } from './statement.ts';
import { usageReport } from './usage-report.ts';

type Handler<N extends OperationName> = (work: Work, operation: OperationOf<N>) => Promise<Outcome<N>>;

/** They only read, and may take long. */
const REPORTS = {
  audit: (work) => audit(work),
  listKeys: (work, { query }) => listKeys(work, query),
  keyIds: (work, { accountId, below = false }) => keyIds(work, accountId, below),
  usageReport: (work, { query }) => usageReport(work, query),
  findCharge: (work, { requestId }) => findCharge(work, requestId),
  statement: (work, { id, sinceMs, untilMs }) => statement(work, id, sinceMs, untilMs),
} satisfies { readonly [N in OperationName]?: Handler<N> };

type ReportName = keyof typeof REPORTS;
export type ReportOperation = OperationOf<ReportName>;
/** What has its own way to the database. */
type OtherName = HotName | ResponseOperation['op'] | 'recover' | 'prune' | 'rollUp';
type ChangeName = Exclude<OperationName, OtherName | ReportName | AccountOperation['op']>;

const CHANGES: { readonly [N in ChangeName]: Handler<N> } = {
  createKey: (work, { request }) => createKey(work, request),
  createKeys: (work, { requests }) => createKeys(work, requests),
  getKey: (work, { keyId }) => getKey(work, keyId),
  changeKey: (work, { keyId, change }) => changeKey(work, keyId, change),
  addSecret: (work, { keyId, digest, prefix }) => addSecret(work, keyId, digest, prefix),
  revokeSecret: (work, { keyId, prefix }) => revokeSecret(work, keyId, prefix),
  addCredit: (work, operation) => addCredit(work, operation.keyId, operation),
  expiringKeys: (work, { after, untilMs, limit }) => expiringKeys(work, after, untilMs, limit),
  correct: (work, { request }) => correct(work, request),
  refund: (work, { request }) => refund(work, request),
  promotions: (work, { id }) => openPromotions(work, id),
  getDocument: (work, { name }) => getDocument(work, name),
  putDocument: (work, { name, value }) => putDocument(work, name, value),
};

export function isReport(operation: Operation): operation is ReportOperation {
  return Object.hasOwn(REPORTS, operation.op);
}

function isOnAccounts(operation: Operation): operation is AccountOperation {
  return Object.hasOwn(ACCOUNT_OPERATIONS, operation.op);
}

export function readReport(work: Work, operation: ReportOperation): Promise<Outcome> {
  // A row of the table takes the operation that it is named after; so does one of the changes.
  return (REPORTS[operation.op] as Handler<ReportName>)(work, operation);
}

export function performChange(work: Work, operation: OperationOf<ChangeName> | AccountOperation): Promise<Outcome> {
  if (isOnAccounts(operation)) return performOnAccounts(work, operation);
  return (CHANGES[operation.op] as Handler<ChangeName>)(work, operation);
}
