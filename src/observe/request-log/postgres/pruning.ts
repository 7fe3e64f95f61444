/**
 * Keeps the log in PostgreSQL within its bounds, in small steps: content whose time is over, days that are too old, and while
 * the log is too large first content, then requests, the oldest of either.
 *
 * A table that rows leave keeps its size on disk, and has room for others once autovacuum has come by: whoever went by that
 * size would remove rows until none is left. So what has to fit are the rows that are there. They are only looked at where
 * the size on disk, which is more, does not fit: all of a small log, of a large one a sample of its pages, the same ones for
 * every gateway and at every look.
 *
 * A day leaves as a whole, which costs nothing and gives its disk space back, where it is a small part of the log. A larger
 * one loses as many rows as it has to, so that midnight does not empty a log that holds less than a day, and is dropped when
 * it has none left. Only the oldest day loses rows: on disk, the log takes that day more than its rows.
 *
 * Of several gateways on the database, one at a time takes a step, and measures in it, so that two do not remove what is too
 * much twice.
 */
import type { Query } from '../../../storage/postgres/connection.ts';
import type { Retention } from '../store.ts';
import { dayAt, dayOf, type LogDatabase, type Partition } from './database.ts';

/** A step takes some milliseconds. */
const PRUNED_ROWS = 1_000;
/** Each is up to two mebibytes, in pieces of two kilobytes. */
const PRUNED_CAPTURES = 20;
/** Of the bound: what a day may take to be dropped as a whole. */
const DROPPED_PART = 1 / 4;
/** Eight mebibytes: some ten thousand requests. */
const SAMPLED_PAGES = 1_024;

interface Table {
  readonly name: string;
  /** The column `part`: the tables that it consists of. */
  readonly parts: string;
  /** Of one row, with what it takes beside its long columns, in the table and in its indexes. */
  readonly rowBytes: string;
}

const LOG: Table = {
  name: 'gateway.request_log',
  parts: `SELECT inhrelid AS part FROM pg_inherits WHERE inhparent = 'gateway.request_log'::regclass`,
  rowBytes: `(260 + pg_column_size(detail) + coalesce(pg_column_size(model), 0)
    + CASE WHEN condition IS NULL THEN 0 ELSE 90 END)`,
};

const CAPTURES: Table = {
  name: 'gateway.request_captures',
  parts: `SELECT 'gateway.request_captures'::regclass AS part`,
  rowBytes: '(600 + 1.05 * (pg_column_size(request) + pg_column_size(response)))',
};

/** What is to be done after a step: nothing, another step, or to drop a day and then another step. */
type Outcome = 'done' | 'more' | { readonly drop: number };

export class LogPruning {
  readonly #database: LogDatabase;
  /** What was removed last. A scan from the beginning would meet everything that was removed since autovacuum came by. */
  #removedTo = '';

  constructor(database: LogDatabase) {
    this.#database = database;
  }

  /** One step; whether there is more to do at once. */
  async step({ keepMs, maxBytes }: Retention, nowMs: number): Promise<boolean> {
    const today = dayAt(nowMs);
    await this.#database.makePartitions([today, today + 1]);
    const [oldest] = await this.#database.partitions();
    const outcome = await this.#outcome(oldest, dayAt(nowMs - keepMs), maxBytes, nowMs);
    if (typeof outcome === 'object') await this.#database.dropPartition(outcome.drop);
    if (outcome === 'done') this.#removedTo = '';
    return outcome !== 'done';
  }

  async #outcome(oldest: Partition | undefined, firstDay: number, maxBytes: number, nowMs: number): Promise<Outcome> {
    if (oldest !== undefined && oldest.day < firstDay) return { drop: oldest.day };
    const step = await this.#database.alone(async (query): Promise<Outcome> => {
      if ((await removeExpired(query, nowMs)) === PRUNED_CAPTURES) return 'more';
      const excess = (await measure(query, maxBytes)) - maxBytes;
      if (excess <= 0) return 'done';
      // Content is the larger part where there is some, and its loss the smaller one.
      if ((await removeCaptures(query, excess)) > 0) return 'more';
      const past = oldest !== undefined && oldest.day < dayAt(nowMs);
      if (past && oldest.bytes <= maxBytes * DROPPED_PART) return { drop: oldest.day };
      const last = await removeRows(query, excess, this.#removedTo);
      if (last === null) return past ? { drop: oldest.day } : 'done';
      this.#removedTo = last;
      return past && oldest.day < dayOf(last) ? { drop: oldest.day } : 'more';
    });
    // Another gateway is at it.
    return step ?? 'done';
  }
}

/** What the log takes, without the room on disk that only waits for other rows. */
export function logBytes(database: LogDatabase): Promise<number> {
  return measure((text, values) => database.query(text, values), 0);
}

/** Where it is not more than `enough`, it may be anything below. */
async function measure(query: Query, enough: number): Promise<number> {
  const [log, captures] = [await diskUse(query, LOG), await diskUse(query, CAPTURES)];
  const onDisk = log.bytes + captures.bytes;
  if (onDisk <= enough) return onDisk;
  return (await liveBytes(query, LOG, log.pages)) + (await liveBytes(query, CAPTURES, captures.pages));
}

/** Pages are those of the rows alone. */
async function diskUse(query: Query, { parts }: Table): Promise<{ readonly bytes: number; readonly pages: number }> {
  const [found] = await query(
    `SELECT coalesce(sum(pg_total_relation_size(part)), 0)::float8 AS bytes,
       coalesce(sum(pg_relation_size(part) / current_setting('block_size')::int), 0)::float8 AS pages FROM (${parts}) parts`,
  );
  return { bytes: Number(found?.bytes), pages: Number(found?.pages) };
}

/** Long columns are not read for it: their place in the row says how long they are. */
async function liveBytes(query: Query, { name, rowBytes }: Table, pages: number): Promise<number> {
  const share = Math.min(1, SAMPLED_PAGES / pages);
  const [found] = await query(
    `SELECT coalesce(sum(${rowBytes}), 0)::float8 AS bytes FROM ${name} TABLESAMPLE SYSTEM ($1) REPEATABLE (0)`,
    [share * 100],
  );
  return Number(found?.bytes) / share;
}

async function removeExpired(query: Query, nowMs: number): Promise<number> {
  const removed = await query(
    `DELETE FROM gateway.request_captures WHERE id IN (
       SELECT id FROM gateway.request_captures WHERE expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT ${PRUNED_CAPTURES}
     ) RETURNING id`,
    [nowMs],
  );
  return removed.length;
}

/** No more than the excess, as long as one row does not exceed it. */
async function removeCaptures(query: Query, excess: number): Promise<number> {
  const removed = await query(
    `WITH oldest AS (SELECT id, ${CAPTURES.rowBytes} AS bytes FROM gateway.request_captures ORDER BY id LIMIT ${PRUNED_CAPTURES})
     DELETE FROM gateway.request_captures c USING (SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM oldest) o
     WHERE c.id = o.id AND o.before < $1::float8 RETURNING c.id`,
    [excess],
  );
  return removed.length;
}

/** The last that was removed. */
async function removeRows(query: Query, excess: number, after: string): Promise<string | null> {
  const [removed] = await query(
    `WITH oldest AS (
       SELECT day, id, ${LOG.rowBytes} AS bytes FROM gateway.request_log WHERE day >= $2 AND id > $3
       ORDER BY day, id LIMIT ${PRUNED_ROWS}
     ), removed AS (
       DELETE FROM gateway.request_log r
       USING (SELECT day, id, sum(bytes) OVER (ORDER BY day, id) - bytes AS before FROM oldest) o
       WHERE r.day = o.day AND r.id = o.id AND o.before < $1::float8 RETURNING r.id
     ) SELECT max(id) AS last FROM removed`,
    [excess, dayOf(after), after],
  );
  return typeof removed?.last === 'string' ? removed.last : null;
}
