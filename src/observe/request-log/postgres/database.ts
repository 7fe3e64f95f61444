/** The request log in PostgreSQL: one table, a partition for each day, so that old days leave at once and cost nothing. */
import { DAY_MS } from '../../../core/time.ts';
import { ADVISORY_LOCKS } from '../../../storage/advisory-locks.ts';
import type { Row } from '../../../storage/columns.ts';
import { Connection, type Query } from '../../../storage/postgres/connection.ts';
import { sqlState } from '../../../storage/postgres/error-mapping.ts';
import { hasTables } from '../../../storage/postgres/migration.ts';
import { FAILURES_TABLE } from '../../failures/postgres.ts';

export interface Partition {
  readonly day: number;
  /** On disk. */
  readonly bytes: number;
}

const STATEMENT_MS = 10_000;
const IDLE_MS = 10_000;
const DUPLICATE: ReadonlySet<string | null> = new Set(['42P07', '42710', '23505']);

const TABLES = `
  CREATE SCHEMA IF NOT EXISTS gateway;
  CREATE SEQUENCE IF NOT EXISTS gateway.request_log_seq;
  CREATE TABLE IF NOT EXISTS gateway.request_log (
    day integer NOT NULL,
    id text NOT NULL,
    seq bigint NOT NULL DEFAULT nextval('gateway.request_log_seq'),
    stored_at timestamptz NOT NULL DEFAULT now(),
    received_at_ms bigint NOT NULL,
    key_id text,
    model text,
    status integer,
    condition text,
    duration_ms bigint NOT NULL,
    cost_nanos bigint,
    detail text NOT NULL,
    PRIMARY KEY (day, id)
  ) PARTITION BY RANGE (day);
  CREATE INDEX IF NOT EXISTS request_log_seq_idx ON gateway.request_log (seq);
  CREATE INDEX IF NOT EXISTS request_log_failed_idx ON gateway.request_log (condition, id) WHERE condition IS NOT NULL;
  CREATE TABLE IF NOT EXISTS gateway.request_captures (
    id text PRIMARY KEY,
    expires_at_ms bigint NOT NULL,
    cut boolean NOT NULL,
    request bytea NOT NULL,
    response bytea NOT NULL
  );
  CREATE INDEX IF NOT EXISTS request_captures_expiry_idx ON gateway.request_captures (expires_at_ms);
  ${FAILURES_TABLE}`;

/** Of the time that an id begins with. What is only the beginning of an id comes before all that begin so. */
export function dayOf(id: string): number {
  return dayAt(Number.parseInt(id.slice(4, 16).padEnd(12, '0'), 16) || 0);
}

export function dayAt(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** One thing at a time, on a connection that is left when nobody needs it. */
export class LogDatabase {
  readonly #connection: Connection;
  #last: Promise<unknown> = Promise.resolve();
  #prepared = false;

  constructor(url: string) {
    this.#connection = new Connection({
      url,
      name: 'model-gateway-requests',
      statementTimeoutMs: STATEMENT_MS,
      lockTimeoutMs: 0,
      idleMs: IDLE_MS,
    });
  }

  /** `name`: of a statement that the server is to keep. */
  query(text: string, values: readonly unknown[] = [], name?: string): Promise<readonly Row[]> {
    return this.#next(() => this.#connection.query(text, values, name));
  }

  /**
   * In a transaction, while no other process is in one of these; null where one is. Each query sees what was committed
   * before it.
   */
  alone<T>(work: (query: Query) => Promise<T>): Promise<T | null> {
    const locked = async (query: Query): Promise<T | null> => {
      const [lock] = await query('SELECT pg_try_advisory_xact_lock($1) AS taken', [ADVISORY_LOCKS.requestLogPruning]);
      return lock?.taken === true ? work(query) : null;
    };
    return this.#next(() => this.#connection.transaction('', locked));
  }

  /** After what was asked before, so that none of it is part of somebody else's transaction. */
  #next<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(async () => {
      if (!this.#prepared) await this.#prepare();
      return work();
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  async #prepare(): Promise<void> {
    const query: Query = (text, values) => this.#connection.query(text, values);
    if (!(await hasTables(query, 'request_log', 'request_captures', 'request_log_failures')))
      await this.#change(TABLES);
    this.#prepared = true;
  }

  /** The partition of each of these days, where it is not there yet. */
  async makePartitions(days: readonly number[]): Promise<void> {
    const made = new Set((await this.partitions()).map(({ day }) => day));
    const missing = days.filter((day) => !made.has(day));
    if (missing.length === 0) return;
    const tables = missing.map(
      (day) => `CREATE TABLE IF NOT EXISTS gateway.request_log_d${day}
        PARTITION OF gateway.request_log FOR VALUES FROM (${day}) TO (${day + 1});`,
    );
    await this.#next(() => this.#change(tables.join('\n')));
  }

  /** Oldest first. */
  async partitions(): Promise<readonly Partition[]> {
    const rows = await this.query(
      `SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes
       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'gateway.request_log'::regclass`,
    );
    return rows
      .map((row) => ({ day: Number(String(row.name).replace('request_log_d', '')), bytes: Number(row.bytes) }))
      .sort((a, b) => a.day - b.day);
  }

  async dropPartition(day: number): Promise<void> {
    await this.#next(() => this.#change(`DROP TABLE IF EXISTS gateway.request_log_d${Math.floor(day)}`));
  }

  /** As one transaction, after whoever else is at it. */
  async #change(sql: string): Promise<void> {
    const change = async (query: Query): Promise<void> => {
      await query('SET LOCAL lock_timeout = 2000');
      await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.requestLogTables]);
      await query(sql);
    };
    try {
      await this.#connection.transaction('', change);
    } catch (error) {
      if (!DUPLICATE.has(sqlState(error))) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#connection.close();
  }
}
