/** The request log in PostgreSQL: one table, a partition for each day, so that old days leave at once and cost nothing. */
import { Pool } from 'pg';
import { connectTimeoutMs } from '../../../core/database-url.ts';
import { DAY_MS } from '../../../core/time.ts';
import { ADVISORY_LOCKS } from '../../../storage/advisory-locks.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

export interface Partition {
  readonly day: number;
  /** On disk. */
  readonly bytes: number;
}

const STATEMENT_MS = 10_000;
const DUPLICATE = new Set(['42P07', '42710', '23505']);

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
  CREATE INDEX IF NOT EXISTS request_captures_expiry_idx ON gateway.request_captures (expires_at_ms);`;

/** Of the time that an id begins with. What is only the beginning of an id comes before all that begin so. */
export function dayOf(id: string): number {
  return dayAt(Number.parseInt(id.slice(4, 16).padEnd(12, '0'), 16) || 0);
}

export function dayAt(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** One connection that comes back by itself. Nothing here is money: a commit is not waited for. */
export class LogDatabase {
  readonly #pool: Pool;
  #prepared: Promise<void> | null = null;

  constructor(url: string) {
    this.#pool = new Pool({
      connectionString: url,
      application_name: 'model-gateway-requests',
      max: 1,
      connectionTimeoutMillis: connectTimeoutMs(url) ?? 0,
      query_timeout: STATEMENT_MS + 3_000,
      allowExitOnIdle: true,
      // Not as parameters of the startup: a pooler refuses those that it does not know.
      onConnect: (client) =>
        client.query(`SET statement_timeout = ${STATEMENT_MS}; SET synchronous_commit = off`).then(() => {}),
    });
    // A connection that breaks while nobody uses it; the next query opens another one.
    this.#pool.on('error', () => {});
    // One that breaks while somebody does fails what it was asked.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    await this.#ready();
    return (await this.#pool.query<Row>(text, [...values])).rows;
  }

  /**
   * In a transaction, while no other process is in one of these; null where one is. Each query sees what was committed
   * before it.
   */
  async alone<T>(work: (query: Query) => Promise<T>): Promise<T | null> {
    await this.#ready();
    const client = await this.#pool.connect();
    let ended = false;
    try {
      const query: Query = async (text, values = []) => (await client.query<Row>(text, [...values])).rows;
      await query('BEGIN');
      const [lock] = await query('SELECT pg_try_advisory_xact_lock($1) AS taken', [ADVISORY_LOCKS.requestLogPruning]);
      const result = lock?.taken === true ? await work(query) : null;
      await query('COMMIT');
      ended = true;
      return result;
    } finally {
      // A connection that is closed takes its transaction with it.
      client.release(!ended);
    }
  }

  async #ready(): Promise<void> {
    this.#prepared ??= this.#prepare();
    try {
      await this.#prepared;
    } catch (error) {
      this.#prepared = null;
      throw error;
    }
  }

  async #prepare(): Promise<void> {
    const { rows } = await this.#pool.query<Row>(
      `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'gateway' AND c.relname IN ('request_log', 'request_captures')`,
    );
    if (rows.length < 2) await this.#change(TABLES);
  }

  /** The partition of each of these days, where it is not there yet. */
  async makePartitions(days: readonly number[]): Promise<void> {
    const made = new Set((await this.partitions()).map(({ day }) => day));
    const missing = days.filter((day) => !made.has(day));
    if (missing.length === 0) return;
    await this.#change(
      missing
        .map(
          (day) => `CREATE TABLE IF NOT EXISTS gateway.request_log_d${day}
            PARTITION OF gateway.request_log FOR VALUES FROM (${day}) TO (${day + 1});`,
        )
        .join('\n'),
    );
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
    await this.#change(`DROP TABLE IF EXISTS gateway.request_log_d${Math.floor(day)}`);
  }

  /** As one transaction, after whoever else is at it. */
  async #change(sql: string): Promise<void> {
    try {
      await this.#pool.query(
        `BEGIN; SET LOCAL lock_timeout = 2000; SELECT pg_advisory_xact_lock(${ADVISORY_LOCKS.requestLogTables}); ${sql}; COMMIT`,
      );
    } catch (error) {
      await this.#pool.query('ROLLBACK');
      if (!DUPLICATE.has(String((error as { code?: unknown }).code))) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}
