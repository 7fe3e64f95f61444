/** What the embedded store does for each operation. */

import { addToRollups, readStep } from '../../reports/sqlite/rollup.ts';
import { integer } from '../../storage/columns.ts';
import { type BooksName, type BooksOperation, workOf } from '../books/perform.ts';
import { admit } from '../engine/admit.ts';
import { extend, mark, settle, voidById } from '../engine/hold.ts';
import { summarize } from '../engine/summary.ts';
import type { Operation, OperationName, OperationOf, Outcome } from '../operations.ts';
import { SqliteBooks } from './books.ts';
import type { KeyCache } from './key-cache.ts';
import { expireAll, prune, recover } from './maintenance.ts';
import { isOfEverything, isReport, type ReportName, type ReportOperation, readReport } from './reports.ts';
import { deleteResponse, findChain, findItems, getResponse } from './responses.ts';
import { performCold } from './statements.ts';

type Handler<N extends OperationName> = (keys: KeyCache, operation: OperationOf<N>) => Outcome<N>;
type HandledName = Exclude<OperationName, ReportName | BooksName>;

const HANDLERS: { readonly [N in HandledName]: Handler<N> } = {
  admit: (keys, { owner, request }) => admit(keys, owner, request),
  extend,
  settle: (keys, { request }) => settle(keys, request),
  void: (keys, { keyId, holdId }) => voidById(keys, keyId, holdId),
  mark: (keys, { number, marks }) => mark(keys, number, marks),
  findKey: (keys, { digest }) => keys.ofDigest(digest)?.key ?? null,
  summary: (keys, { keyId }) => summarize(keys, keyId),
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
    const row = sql
      .cold('UPDATE owners SET lease_until_ms = max(lease_until_ms, ?) WHERE id = ? RETURNING lease_until_ms')
      .get(steadyMs + leaseMs, owner);
    return row === undefined ? { kind: 'owner_lost' } : { kind: 'alive', untilMs: integer(row, 'lease_until_ms') };
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
  if (!isHandled(operation)) return changeBooks(keys, operation);
  // A row of the table takes the operation that it is named after.
  return (HANDLERS[operation.op] as Handler<HandledName>)(keys, operation);
}

function isHandled(operation: Operation): operation is OperationOf<HandledName> {
  return Object.hasOwn(HANDLERS, operation.op);
}

/** Charges and totals that only memory has are in the file first: the books are read there. */
function changeBooks(keys: KeyCache, operation: BooksOperation): Outcome {
  keys.flush();
  return performCold(keys.sql.cold, workOf(new SqliteBooks(keys), operation));
}

function report(keys: KeyCache, operation: ReportOperation): Outcome {
  if (isOfEverything(operation)) {
    expireAll(keys);
    keys.persistAll();
  } else keys.flush(true);
  return readReport({ sql: keys.sql.cold, nowMs: keys.nowMs, steadyMs: keys.steadyMs }, operation);
}
