/**
 * Adds charges and their usage records to the rollups, a step at a time, by one gateway at a time. A batch of charges leaves
 * `unrolled_batches` in the transaction that adds it, so each is added once, whatever ends this gateway, its connection or the
 * server; and what is not committed yet is simply found later. Gateways of earlier releases have charges wait one by one, in `unrolled`.
 */

import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { type RolledUp, USAGE_SUMS } from '../../core/usage-report.ts';
import { ADVISORY_LOCKS } from '../../storage/advisory-locks.ts';
import { integer, text } from '../../storage/columns.ts';
import type { Connection, Query } from '../../storage/postgres/connection.ts';
import { LATENCY_BOUNDS_MS, LATENCY_CLASSES } from '../tally.ts';

const BOUNDS = `ARRAY[${LATENCY_BOUNDS_MS.join(', ')}]::bigint[]`;
const CLASSES = Array.from({ length: LATENCY_CLASSES }, (_, index) => index);
/** The columns of the histograms. */
export const TIME_COLUMNS = [...CLASSES.map((index) => `f${index}`), ...CLASSES.map((index) => `d${index}`)];

/** The charges that `from` names, each with its hour, and with its usage record where it has one. */
export function chargeFacts(from: string, where = 'true'): string {
  return `
    SELECT e.at_ms / ${HOUR_MS} * ${HOUR_MS} AS start_ms, e.key_id, a.label, coalesce(e.model, u.model, '') AS model,
      coalesce(e.provider, u.provider, '') AS provider, coalesce(e.format, u.format, '') AS format, 1 AS charges,
      (coalesce(u.outcome, 'cancelled') <> 'cancelled')::integer AS requests, (u.outcome IS NOT DISTINCT FROM 'broken')::integer AS broken,
      CASE a.mode WHEN 'credit' THEN e.amount ELSE 0 END AS charged_nanos,
      CASE a.mode WHEN 'credit' THEN 0 ELSE e.amount END AS charged_tokens,
      coalesce(e.cost_nanos, CASE a.mode WHEN 'credit' THEN e.amount ELSE u.cost_nanos END, 0) AS cost_nanos,
      coalesce(e.provider_cost_nanos, u.provider_cost_nanos, 0) AS provider_cost_nanos,
      coalesce(u.input, 0) AS input, coalesce(u.cache_read, 0) AS cache_read, coalesce(u.cache_write, 0) AS cache_write,
      coalesce(u.cache_write_1h, 0) AS cache_write_1h, coalesce(u.output, 0) AS output,
      coalesce(u.reasoning, 0) AS reasoning,
      width_bucket(u.first_byte_ms, ${BOUNDS}) AS f, width_bucket(u.duration_ms, ${BOUNDS}) AS d
    FROM ${from} t
    JOIN gateway.entries e ON e.key_id = t.key_id AND e.kind = 'charge' AND e.id = t.hold_id
    JOIN gateway.accounts a ON a.key_id = t.key_id
    LEFT JOIN gateway.usage u ON u.key_id = t.key_id AND u.at_ms = t.at_ms AND u.hold_id = t.hold_id
    WHERE ${where}`;
}

/** The same of the batches that `from` names. */
export function batchFacts(from: string, where = 'true'): string {
  return `
    SELECT b.at_ms / ${HOUR_MS} * ${HOUR_MS} AS start_ms, b.key_id, a.label, coalesce(b.model, '') AS model,
      coalesce(b.provider, '') AS provider, coalesce(b.format, '') AS format, 1 AS charges,
      (coalesce(c.outcome, 'cancelled') <> 'cancelled')::integer AS requests, (c.outcome IS NOT DISTINCT FROM 'broken')::integer AS broken,
      CASE a.mode WHEN 'credit' THEN c.amount ELSE 0 END AS charged_nanos,
      CASE a.mode WHEN 'credit' THEN 0 ELSE c.amount END AS charged_tokens,
      CASE a.mode WHEN 'credit' THEN c.amount ELSE coalesce(c.cost_nanos, c.amount) END AS cost_nanos,
      coalesce(c.provider_cost_nanos, c.cost_nanos, c.amount) AS provider_cost_nanos,
      coalesce(c.input, 0) AS input, coalesce(c.cache_read, 0) AS cache_read, coalesce(c.cache_write, 0) AS cache_write,
      coalesce(c.cache_write_1h, 0) AS cache_write_1h, coalesce(c.output, 0) AS output,
      coalesce(c.reasoning, 0) AS reasoning,
      width_bucket(c.first_byte_ms, ${BOUNDS}) AS f, width_bucket(c.duration_ms, ${BOUNDS}) AS d
    FROM ${from} t
    JOIN gateway.charge_batches b ON b.key_id = t.key_id AND b.at_ms = t.at_ms AND b.number = t.number
    JOIN gateway.accounts a ON a.key_id = t.key_id
    CROSS JOIN LATERAL unnest(b.charges) c
    WHERE ${where}`;
}

/** The histograms of facts. */
export const TIME_COUNTS = [
  ...CLASSES.map((index) => `nullif(count(*) FILTER (WHERE f = ${index}), 0)`),
  ...CLASSES.map((index) => `nullif(count(*) FILTER (WHERE d = ${index}), 0)`),
];

const MOST = 9_223_372_036_854_775_807n;
const KEY = ['key_id', 'model', 'provider', 'format'];
/** Facts are added up once, by hour and key; the rollups add up the few rows of that. */
const SUMMED = `
  SELECT start_ms, ${KEY.join(', ')}, ${USAGE_SUMS.map((name) => `sum(${name}) AS ${name}`).join(', ')},
    ${TIME_COUNTS.map((count, index) => `${count} AS ${TIME_COLUMNS[index]}`).join(', ')}
  FROM facts GROUP BY start_ms, ${KEY.join(', ')}`;

/** Adds the sums to one rollup. They stop at what a column can hold instead of failing. */
function addSums(table: string, key: readonly string[], startMs: string): string {
  const columns = ['start_ms', ...key, ...USAGE_SUMS, ...TIME_COLUMNS];
  return `
    INSERT INTO gateway.${table} AS r (${columns.join(', ')})
    SELECT ${startMs}, ${key.join(', ')}, ${USAGE_SUMS.map((name) => `least(sum(${name}), ${MOST})`).join(', ')},
      ${TIME_COLUMNS.map((name) => `sum(${name})`).join(', ')}
    FROM summed GROUP BY 1, ${key.map((_, index) => index + 2).join(', ')}
    ON CONFLICT (start_ms, ${key.join(', ')}) DO UPDATE SET
      ${USAGE_SUMS.map((name) => `${name} = least(r.${name}::numeric + excluded.${name}, ${MOST})`).join(', ')},
      ${TIME_COLUMNS.map((name) => `${name} = coalesce(r.${name} + excluded.${name}, r.${name}, excluded.${name})`).join(', ')}`;
}

/**
 * `OFFSET 0`: each fact is worked out once. Without it the class of a latency is worked out again for each count of the histograms:
 * 26 ms instead of 13 for 4,096 charges of one key.
 */
const addFacts = (facts: string): string => `
  facts AS (${facts} OFFSET 0),
  summed AS MATERIALIZED (${SUMMED}),
  hours AS (${addSums('usage_hours', ['model', 'provider', 'format'], 'start_ms')}),
  key_hours AS (${addSums('usage_key_hours', KEY, 'start_ms')}),
  key_days AS (${addSums('usage_key_days', KEY, `start_ms / ${DAY_MS} * ${DAY_MS}`)})`;

const TAKE = `
  WITH taken AS (
    DELETE FROM gateway.unrolled WHERE ctid = ANY (ARRAY(SELECT ctid FROM gateway.unrolled LIMIT $1))
    RETURNING key_id, hold_id, at_ms
  ), ${addFacts(chargeFacts('taken'))}
  SELECT count(*) AS charges FROM taken`;

/** The batches until their charges are as many as `$1`. */
const TAKE_BATCHES = `
  WITH first AS (SELECT ctid, charges FROM gateway.unrolled_batches LIMIT $1),
  before AS (SELECT ctid, sum(charges) OVER (ROWS UNBOUNDED PRECEDING) - charges AS charges FROM first),
  taken AS (
    DELETE FROM gateway.unrolled_batches WHERE ctid = ANY (ARRAY(SELECT ctid FROM before WHERE charges < $1))
    RETURNING key_id, at_ms, number, charges
  ), ${addFacts(batchFacts('taken'))}
  SELECT coalesce(sum(charges), 0) AS charges FROM taken`;

/** Records from before the rollups: only their entries do not say what they cost. */
const HISTORY = `
  WITH past AS (
    SELECT key_id, at_ms, hold_id FROM gateway.usage WHERE (key_id, at_ms, hold_id) > ($1, $2, $3)
    ORDER BY key_id, at_ms, hold_id LIMIT $4
  ), ${addFacts(chargeFacts('past', 'e.cost_nanos IS NULL'))},
  moved AS (
    UPDATE gateway.usage_history h SET key_id = l.key_id, at_ms = l.at_ms, hold_id = l.hold_id
    FROM (SELECT * FROM past ORDER BY key_id DESC, at_ms DESC, hold_id DESC LIMIT 1) l
  ), ended AS (
    DELETE FROM gateway.usage_history WHERE (SELECT count(*) FROM past) = 0
  )
  SELECT count(*) AS charges FROM past`;

export function rollUp(connection: Connection, limit: number): Promise<RolledUp> {
  return connection.transaction('', async (query) => {
    // Another gateway that holds it is adding; this one has nothing to do.
    const [lock] = await query('SELECT pg_try_advisory_xact_lock($1) AS taken', [ADVISORY_LOCKS.usageRollup]);
    if (lock?.taken !== true) return { charges: 0, more: false };
    // Rows are looked up by their keys, whatever the statistics say.
    await query('SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off');
    const batched = await countOf(query, TAKE_BATCHES, [limit], 'roll-up-batches');
    if (batched >= limit) return { charges: batched, more: true };
    const charges = batched + (await countOf(query, TAKE, [limit - batched], 'roll-up'));
    if (charges > 0) return { charges, more: charges >= limit };
    const [at] = await query('SELECT key_id, at_ms, hold_id FROM gateway.usage_history');
    if (at === undefined) return { charges: 0, more: false };
    const from = [text(at, 'key_id'), text(at, 'at_ms'), text(at, 'hold_id'), limit];
    return { charges: await countOf(query, HISTORY, from), more: true };
  });
}

async function countOf(query: Query, sql: string, values: readonly unknown[], name?: string): Promise<number> {
  const [row] = await query(sql, values, name);
  return row === undefined ? 0 : integer(row, 'charges');
}
