/** Removes what nothing asks for any more, a bounded number of rows at a time. */
import { CLAIM_KEEP_MS, type Pruned, RATE_WINDOW_MS, VOIDED_KEEP_MS } from '../operations.ts';
import type { Books } from './account-cache.ts';

/** Rows are old in the order in which they were written, so only the first ones need a look. */
const OLD_CLAIMS = `DELETE FROM claims WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, ended_at_ms FROM claims ORDER BY rowid LIMIT ?) WHERE ended_at_ms <= ?)`;
const OLD_VOIDED = `DELETE FROM voided WHERE rowid IN (
  SELECT rowid FROM (SELECT rowid, at_ms FROM voided ORDER BY rowid LIMIT ?) WHERE at_ms <= ?)`;
const OLD_RATES = `DELETE FROM rates WHERE (key_id, number) IN (
  SELECT key_id, number FROM rates WHERE newest_ms <= ? LIMIT ?)`;
const OLD_USAGE = `DELETE FROM usage WHERE number IN (
  SELECT number FROM (SELECT number, at_ms FROM usage ORDER BY number LIMIT ?) WHERE at_ms <= ?)`;

export function prune(books: Books, limit: number, usageKeepMs: number | null): Pruned {
  const { sql, nowMs } = books;
  books.flush(true);
  const counts = [
    sql.cold(OLD_CLAIMS).run(limit, nowMs - CLAIM_KEEP_MS).changes,
    sql.cold(OLD_VOIDED).run(limit, nowMs - VOIDED_KEEP_MS).changes,
    sql.cold(OLD_RATES).run(nowMs - RATE_WINDOW_MS, limit).changes,
    usageKeepMs === null ? 0 : sql.cold(OLD_USAGE).run(limit, nowMs - usageKeepMs).changes,
  ].map(Number);
  return {
    removed: counts.reduce((sum, rows) => sum + rows, 0),
    more: counts.some((rows) => rows >= limit),
  };
}
