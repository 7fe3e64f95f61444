/** What the embedded store does for each operation. */
import type { Operation, OperationName, OperationOf, Outcome } from '../operations.ts';
import { summaryOnPath } from '../rules/levels.ts';
import {
  addAccountCredit,
  changeAccount,
  createAccount,
  getAccount,
  joinAccount,
  moveAccount,
  moveKey,
} from './accounts.ts';
import { admit } from './admit.ts';
import { getDocument, putDocument } from './documents.ts';
import { extend, mark, settle, voidById } from './hold.ts';
import type { KeyCache } from './key-cache.ts';
import { addCredit, addSecret, changeKey, createKey, expiringKeys, findKey, getKey, revokeSecret } from './keys.ts';
import { prune, recover } from './maintenance.ts';
import { correct, refund } from './money.ts';
import { expireAll, expirePromotions, openPromotions } from './promotions.ts';
import { isOfEverything, isReport, type ReportName, type ReportOperation, readReport } from './reports.ts';
import { deleteResponse, findChain, findItems, getResponse } from './responses.ts';
import { nodesAbove } from './tree-cache.ts';
import { addToRollups, readStep } from './usage-rollup.ts';

type Handler<N extends OperationName> = (keys: KeyCache, operation: OperationOf<N>) => Outcome<N>;
type HandledName = Exclude<OperationName, ReportName>;

const HANDLERS: { readonly [N in HandledName]: Handler<N> } = {
  admit: (keys, { owner, request }) => admit(keys, owner, request),
  extend,
  settle: (keys, { request }) => settle(keys, request),
  void: (keys, { keyId, holdId }) => voidById(keys, keyId, holdId),
  mark: (keys, { number, marks }) => mark(keys, number, marks),
  findKey: (keys, { digest }) => findKey(keys, digest),
  summary: (keys, { keyId }) => {
    const state = keys.get(keyId);
    if (state !== undefined) expirePromotions(keys, state);
    return state === undefined ? null : summaryOnPath(state, nodesAbove(state), keys.nowMs);
  },
  createKey: (keys, { request }) => createKey(keys, request),
  createKeys: (keys, { requests }) => requests.map((request) => createKey(keys, request)),
  getKey: (keys, { keyId }) => getKey(keys, keyId),
  changeKey: (keys, { keyId, change }) => changeKey(keys, keyId, change),
  addSecret: (keys, { keyId, digest, prefix }) => addSecret(keys, keyId, digest, prefix),
  revokeSecret: (keys, { keyId, prefix }) => revokeSecret(keys, keyId, prefix),
  addCredit: (keys, operation) => addCredit(keys, operation.keyId, operation),
  expiringKeys: ({ sql }, { after, untilMs, limit }) => expiringKeys(sql.cold, after, untilMs, limit),
  createAccount: (keys, { request }) => createAccount(keys, request),
  changeAccount: (keys, { accountId, change }) => changeAccount(keys, accountId, change),
  moveAccount: (keys, { accountId, parentId }) => moveAccount(keys, accountId, parentId),
  moveKey: (keys, { keyId, accountId }) => moveKey(keys, keyId, accountId),
  joinAccount: (keys, { keyId, accountId, entryId }) => joinAccount(keys, keyId, accountId, entryId),
  addAccountCredit: (keys, operation) => addAccountCredit(keys, operation.accountId, operation),
  getAccount: (keys, { accountId }) => getAccount(keys, accountId),
  correct: (keys, { request }) => correct(keys, request),
  refund: (keys, { request }) => refund(keys, request),
  promotions: (keys, { id }) => openPromotions(keys, id),
  getDocument: ({ sql }, { name }) => getDocument(sql.cold, name),
  putDocument: ({ sql, nowMs }, { name, value }) => putDocument(sql.cold, name, value, nowMs),
  getResponse: ({ sql, nowMs }, { keyId, id }) => getResponse(sql.cold, keyId, id, nowMs),
  findChain: ({ sql, nowMs }, { id, renewal }) => findChain(sql.cold, id, renewal, nowMs),
  findItems: ({ sql, nowMs }, { itemIds, renewal }) => findItems(sql.cold, itemIds, renewal, nowMs),
  deleteResponse: ({ sql, nowMs }, { keyId, id }) => deleteResponse(sql.cold, keyId, id, nowMs),
  rollUp: (keys, { limit }) => {
    keys.flush(true);
    return addToRollups(keys.sql.cold, readStep(keys.sql.cold, limit));
  },
  recover: (keys, { limit }) => recover(keys, limit),
  prune: (keys, { limit, usageKeepMs }) => prune(keys, limit, usageKeepMs),
  registerOwner: (keys, { owner, leaseMs }) => {
    keys.sql
      .cold(`INSERT INTO owners (id, lease_until_ms) VALUES (?, ?) ON CONFLICT (id)
        DO UPDATE SET lease_until_ms = max(lease_until_ms, excluded.lease_until_ms)`)
      .run(owner, keys.steadyMs + leaseMs);
    keys.owners.add(owner);
    return null;
  },
  heartbeat: ({ sql, steadyMs }, { owner, leaseMs }) => {
    const { changes } = sql
      .cold('UPDATE owners SET lease_until_ms = max(lease_until_ms, ?) WHERE id = ?')
      .run(steadyMs + leaseMs, owner);
    return { kind: Number(changes) === 1 ? 'alive' : 'owner_lost' };
  },
  ping: ({ sql, steadyMs }) => {
    sql
      .cold('INSERT INTO pings (id, at_ms) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at_ms = ?')
      .run(steadyMs, steadyMs);
    return null;
  },
};

export function perform(keys: KeyCache, operation: Operation): Outcome {
  if (isReport(operation)) return report(keys, operation);
  // A row of the table takes the operation that it is named after.
  return (HANDLERS[operation.op] as Handler<HandledName>)(keys, operation);
}

function report(keys: KeyCache, operation: ReportOperation): Outcome {
  if (isOfEverything(operation)) {
    expireAll(keys);
    keys.persistAll();
  } else keys.flush(true);
  return readReport({ sql: keys.sql.cold, nowMs: keys.nowMs, steadyMs: keys.steadyMs }, operation);
}
