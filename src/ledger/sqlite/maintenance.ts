/** What runs in the background: holds of dead owners are ended, and rows that are no longer needed are removed. */
import { text } from '../../storage/columns.ts';
import { SQLITE } from '../books/dialect.ts';
import { loseRuns, pruneRuns } from '../books/runs.ts';
import { expireOf } from '../engine/promotions.ts';
import { recoverHold } from '../engine/recover.ts';
import { CLAIM_KEEP_MS, type Pruned, RATE_WINDOW_MS, type Recovered, VOIDED_KEEP_MS } from '../operations.ts';
import type { KeyCache } from './key-cache.ts';
import { pruneResponses } from './responses.ts';
import { performCold } from './statements.ts';

/** Promotional credit of everybody that is due: what the file says then is true now. */
export function expireAll(keys: KeyCache): void {
  const due = keys.sql
    .cold('SELECT DISTINCT node_id FROM promotions WHERE remaining > 0 AND expires_at_ms <= ?')
    .all(keys.nowMs);
  for (const row of due) {
    const payerId = text(row, 'node_id');
    const payer = keys.get(payerId) ?? keys.tree(payerId);
    if (payer !== undefined) expireOf(keys, payer);
  }
}

/**
 * Declares owners dead whose lease is over, then ends holds that have no living owner or are past their expiry: what
 * was marked is charged once, what was not is voided.
 */
export function recover(keys: KeyCache, limit: number): Recovered {
  const { sql, steadyMs } = keys;
  expireAll(keys);
  keys.persistAll();
  for (const row of sql.cold('DELETE FROM owners WHERE lease_until_ms <= ? RETURNING id').all(steadyMs)) {
    keys.owners.delete(text(row, 'id'));
  }
  const found = sql
    .cold(`SELECT key_id, id FROM holds
      WHERE expires_at_ms <= ? OR owner NOT IN (SELECT id FROM owners) LIMIT ?`)
    .all(steadyMs, limit);
  let charged = 0;
  for (const row of found) {
    const state = keys.get(text(row, 'key_id'));
    const hold = state?.holds.get(text(row, 'id'));
    if (state === undefined || hold === undefined) throw new Error(`hold ${text(row, 'id')} has no key`);
    if (recoverHold(keys, state, hold)) charged++;
  }
  performCold(sql.cold, loseRuns(keys.nowMs));
  return { charged, voided: found.length - charged, more: found.length === limit };
}

/** Rows are old in the order in which they were written, so only the first ones need a look. */
const OLD_CLAIMS = `DELETE FROM claims WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, ended_at_ms FROM claims ORDER BY rowid LIMIT ?) WHERE ended_at_ms <= ?)`;
const OLD_VOIDED = `DELETE FROM voided WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, at_ms FROM voided ORDER BY rowid LIMIT ?) WHERE at_ms <= ?)`;
const oldRates = (table: string): string => `DELETE FROM ${table} WHERE (key_id, number) IN (
  SELECT key_id, number FROM ${table} WHERE newest_ms <= ? LIMIT ?)`;
const OLD_RATES = oldRates('rates');
const OLD_TOKEN_RATES = oldRates('token_rates');
/** What no rollup counts yet is never old; and the newest record stays, or its number would be given again. */
const OLD_USAGE = `DELETE FROM usage WHERE number IN (
  SELECT number FROM (SELECT number, at_ms FROM usage ORDER BY number LIMIT ?)
    WHERE at_ms <= ? AND number <= (SELECT number FROM usage_watermark) AND number < (SELECT max(number) FROM usage))`;

export function prune(keys: KeyCache, limit: number, usageKeepMs: number | null): Pruned {
  const { sql, nowMs, steadyMs } = keys;
  keys.flush(true);
  const counts = [
    sql.cold(OLD_CLAIMS).run(limit, nowMs - CLAIM_KEEP_MS).changes,
    sql.cold(OLD_VOIDED).run(limit, nowMs - VOIDED_KEEP_MS).changes,
    sql.cold(OLD_RATES).run(steadyMs - RATE_WINDOW_MS, limit).changes,
    sql.cold(OLD_TOKEN_RATES).run(steadyMs - RATE_WINDOW_MS, limit).changes,
    usageKeepMs === null ? 0 : sql.cold(OLD_USAGE).run(limit, nowMs - usageKeepMs).changes,
  ].map(Number);
  const responses = pruneResponses(sql.cold, nowMs);
  const runs = performCold(sql.cold, pruneRuns({ dialect: SQLITE, nowMs }));
  return {
    removed: counts.reduce((sum, rows) => sum + rows, responses.removed + runs.removed),
    more: counts.some((rows) => rows >= limit) || responses.more || runs.more,
  };
}
