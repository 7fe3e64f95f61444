/** What runs in the background: holds of dead owners are ended, and what is no longer needed is removed. */
import { integer, text } from '../../storage/columns.ts';
import type { Connection } from '../../storage/postgres/connection.ts';
import { POSTGRES } from '../books/dialect.ts';
import { loseRuns, pruneRuns } from '../books/runs.ts';
import { CLAIM_KEEP_MS, type Pruned, RATE_WINDOW_MS, type Recovered, VOIDED_KEEP_MS } from '../operations.ts';
import { applyBatch, type HotStorage } from './apply-batch.ts';
import { performIn } from './books.ts';
import type { LedgerClock } from './ledger-clock.ts';
import { pruneResponses } from './responses.ts';

/** An owner that is just being served is alive; one that is just being declared dead is. */
const DEAD_OWNERS = `DELETE FROM gateway.owners w USING (
    SELECT id FROM gateway.owners WHERE lease_until_ms <= $1 ORDER BY id FOR UPDATE SKIP LOCKED
  ) d WHERE w.id = d.id`;
const ORPHANS = `SELECT h.key_id, h.id FROM gateway.holds h
  WHERE h.expires_at_ms <= $1 OR NOT EXISTS (SELECT FROM gateway.owners w WHERE w.id = h.owner) LIMIT $2`;

/** Declares owners dead whose lease is over, then ends the holds that have no living owner or are past their expiry. */
export async function recover(storage: HotStorage, limit: number): Promise<Recovered> {
  const { connection, clock } = storage;
  const nowMs = await timeOf(connection, clock);
  await connection.query(DEAD_OWNERS, [nowMs]);
  const found = await connection.query(ORPHANS, [nowMs, limit]);
  const results = await applyBatch(
    storage,
    found.map((row) => ({ op: 'recoverHold', keyId: text(row, 'key_id'), holdId: text(row, 'id') })),
  );
  const count = (kind: string): number =>
    results.filter((result) => result !== null && 'kind' in result && result.kind === kind).length;
  await performIn((sql, values) => connection.query(sql, values), loseRuns(nowMs));
  return { charged: count('settled'), voided: count('voided'), more: found.length === limit };
}

/** Whose promotional credit has to expire, whether anybody touches it or not. */
export async function duePayers(connection: Connection, clock: LedgerClock, limit: number): Promise<readonly string[]> {
  const rows = await connection.query(
    `SELECT DISTINCT node_id FROM gateway.promotions
      WHERE remaining > 0 AND expires_at_ms <= (SELECT gateway.ledger_ms($1, $2)) LIMIT $3`,
    [...clock.values(), limit],
  );
  return rows.map((row) => text(row, 'node_id'));
}

async function timeOf(connection: Connection, clock: LedgerClock): Promise<number> {
  const [row] = await connection.query('SELECT gateway.ledger_ms($1, $2) AS now_ms', clock.values());
  const nowMs = row === undefined ? 0 : integer(row, 'now_ms');
  clock.saw(nowMs);
  return nowMs;
}

/** A usage record that no rollup counts yet is never old. */
const rolledUp = (queue: string): string =>
  `at_ms < (SELECT coalesce(min(at_ms), 9223372036854775807) FROM gateway.${queue})`;
const OLD_USAGE = `${rolledUp('unrolled')} AND NOT EXISTS (SELECT FROM gateway.usage_history)`;
/** Table, its primary key, what makes a row old at the time `$1`, and more that must be true. Rows in use are left for later. */
const OLD: readonly (readonly [table: string, key: string, atMs: string, also?: string])[] = [
  ['claims', 'key_id, name', 'ended_at_ms'],
  ['voided', 'key_id, hold_id', 'at_ms'],
  ['rates', 'key_id, number', 'at_ms'],
  ['token_rates', 'key_id, number', 'at_ms'],
  ['usage', 'key_id, at_ms, hold_id', 'at_ms', OLD_USAGE],
  ['charge_batches', 'key_id, at_ms, number', 'at_ms', rolledUp('unrolled_batches')],
];

export async function prune(
  connection: Connection,
  clock: LedgerClock,
  limit: number,
  usageKeepMs: number | null,
): Promise<Pruned> {
  const nowMs = await timeOf(connection, clock);
  const keepMs = [CLAIM_KEEP_MS, VOIDED_KEEP_MS, RATE_WINDOW_MS, RATE_WINDOW_MS, usageKeepMs, usageKeepMs];
  let removed = 0;
  let more = false;
  for (const [index, [table, key, atMs, also]] of OLD.entries()) {
    const keep = keepMs[index] ?? null;
    if (keep === null) continue;
    const rows = await connection.query(
      `DELETE FROM gateway.${table} WHERE (${key}) IN (
        SELECT ${key} FROM gateway.${table} WHERE ${atMs} <= $1 AND ${also ?? 'true'} LIMIT $2 FOR UPDATE SKIP LOCKED
      ) RETURNING 1`,
      [nowMs - keep, limit],
    );
    removed += rows.length;
    more ||= rows.length >= limit;
  }
  const responses = await pruneResponses(connection, nowMs);
  const runs = await performIn((sql, values) => connection.query(sql, values), pruneRuns({ dialect: POSTGRES, nowMs }));
  return { removed: removed + responses.removed + runs.removed, more: more || responses.more || runs.more };
}
