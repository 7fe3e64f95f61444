/** Keys for the operator, in the order in which they were made: what is asked for is found here, and nothing else leaves the store. */

import { text } from '../../storage/columns.ts';
import type { KeyListQuery, KeySummary } from '../port.ts';
import { keySummary } from '../rules/key-rules.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import { type Condition, hasPart, NO_LIMIT, valuesOf, WITHIN, whereOf } from './conditions.ts';
import { ACCOUNT_COLUMNS, type ColdStatements } from './statements.ts';

/** The totals in memory must have been written. */
export function listKeys(sql: ColdStatements, nowMs: number, query: KeyListQuery = {}): readonly KeySummary[] {
  const wanted = conditionsOf(query, nowMs);
  // Found by a few columns: a list of all in their order is not carried along whole.
  const totals = sql(`${ACCOUNT_COLUMNS} WHERE k.rowid IN (
      SELECT k.rowid FROM keys k ${whereOf(wanted)} ORDER BY k.created_at_ms DESC, k.rowid DESC LIMIT ?
    ) ORDER BY k.created_at_ms DESC, k.rowid DESC`)
    .all(...valuesOf(wanted), query.limit ?? NO_LIMIT)
    .map(totalsFrom);
  const prefixes = prefixesOf(
    sql,
    totals.map(({ key }) => key.id),
  );
  return totals.map((each) => keySummary(each, nowMs, prefixes.get(each.key.id) ?? []));
}

function conditionsOf(query: KeyListQuery, nowMs: number): Condition[] {
  const { after, status, mode, accountId, below = false, label, search } = query;
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
  if (accountId !== undefined) wanted.push(ofAccount(accountId, below));
  if (label !== undefined) wanted.push(['k.label = ?', label]);
  if (search !== undefined) {
    const [ofKey, ...ofKeyValues] = hasPart(search, 'k.label', 'k.id');
    const [ofSecret, ...ofSecretValues] = hasPart(search, 's.prefix');
    wanted.push([
      `(${ofKey} OR EXISTS (SELECT 1 FROM secrets s WHERE s.key_id = k.id AND ${ofSecret}))`,
      ...ofKeyValues,
      ...ofSecretValues,
    ]);
  }
  return wanted;
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

function ofAccount(accountId: string | null, below: boolean): Condition {
  if (accountId === null) return ['k.account_id IS NULL'];
  return [below ? `k.account_id IN ${WITHIN}` : 'k.account_id = ?', accountId];
}

export function keyIds(sql: ColdStatements, accountId: string | null, below: boolean): readonly string[] {
  const wanted = [ofAccount(accountId, below)];
  return sql(`SELECT k.id FROM keys k ${whereOf(wanted)}`)
    .all(...valuesOf(wanted))
    .map((row) => text(row, 'id'));
}
