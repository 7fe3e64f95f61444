/** Keys for the operator, in the order in which they were made: what is asked for is found here, and nothing else leaves the store. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { KeyListQuery, KeySummary } from '../port.ts';
import { keySummary } from '../rules/key-rules.ts';
import { readTotals } from './account.ts';
import { text } from './columns.ts';
import { ACCOUNT_COLUMNS, type ColdStatements } from './statements.ts';

const NO_LIMIT = -1;

/** The totals in memory must have been written. */
export function listKeys(sql: ColdStatements, nowMs: number, query: KeyListQuery = {}): readonly KeySummary[] {
  const wanted = conditionsOf(query, nowMs);
  const where = wanted.length === 0 ? '' : `WHERE ${wanted.map(([condition]) => condition).join(' AND ')}`;
  // Found by a few columns: a list of all in their order is not carried along whole.
  const totals = sql(`${ACCOUNT_COLUMNS} WHERE k.rowid IN (
      SELECT k.rowid FROM keys k ${where} ORDER BY k.created_at_ms DESC, k.rowid DESC LIMIT ?
    ) ORDER BY k.created_at_ms DESC, k.rowid DESC`)
    .all(...wanted.flatMap(([, ...values]) => values), query.limit ?? NO_LIMIT)
    .map(readTotals);
  const prefixes = prefixesOf(
    sql,
    totals.map(({ key }) => key.id),
  );
  return totals.map((each) => keySummary(each, nowMs, prefixes.get(each.key.id) ?? []));
}

type Condition = readonly [condition: string, ...values: SQLInputValue[]];

function conditionsOf({ after, status, mode, accountIds, label, search }: KeyListQuery, nowMs: number): Condition[] {
  const wanted: Condition[] = [];
  if (after !== undefined) {
    wanted.push(['(k.created_at_ms, k.rowid) < (SELECT created_at_ms, rowid FROM keys WHERE id = ?)', after]);
  }
  if (status !== undefined) {
    wanted.push([
      `CASE WHEN k.status = 'active' AND k.expires_at_ms <= ? THEN 'expired' ELSE k.status END = ?`,
      nowMs,
      status,
    ]);
  }
  if (mode !== undefined) wanted.push(['k.mode = ?', mode]);
  if (accountIds !== undefined) {
    wanted.push(['k.account_id IN (SELECT value FROM json_each(?))', JSON.stringify(accountIds)]);
  }
  if (label !== undefined) wanted.push(['k.label = ?', label]);
  if (search !== undefined) {
    const part = search.toLowerCase();
    wanted.push([
      `(has_part(k.label, ?) OR has_part(k.id, ?)
        OR EXISTS (SELECT 1 FROM secrets s WHERE s.key_id = k.id AND has_part(s.prefix, ?)))`,
      part,
      part,
      part,
    ]);
  }
  return wanted;
}

/** `has_part(text, part)`, in any case of letters, of every alphabet; the part is in small ones. */
export function defineKeyFunctions(database: DatabaseSync): void {
  database.function('has_part', { deterministic: true }, (whole, part) =>
    typeof whole === 'string' && whole.toLowerCase().includes(String(part)) ? 1 : 0,
  );
}

/** Newest first. */
function prefixesOf(sql: ColdStatements, keyIds: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const prefixes = new Map<string, string[]>();
  const rows = sql(`SELECT key_id, prefix FROM secrets WHERE key_id IN (SELECT value FROM json_each(?))
    ORDER BY key_id, number DESC`).all(JSON.stringify(keyIds));
  for (const row of rows) {
    const ofKey = prefixes.get(text(row, 'key_id'));
    if (ofKey === undefined) prefixes.set(text(row, 'key_id'), [text(row, 'prefix')]);
    else ofKey.push(text(row, 'prefix'));
  }
  return prefixes;
}

export function keyIds(sql: ColdStatements, accountIds: readonly string[] | null): readonly string[] {
  const rows =
    accountIds === null
      ? sql('SELECT id FROM keys WHERE account_id IS NULL').all()
      : sql('SELECT id FROM keys WHERE account_id IN (SELECT value FROM json_each(?))').all(JSON.stringify(accountIds));
  return rows.map((row) => text(row, 'id'));
}
