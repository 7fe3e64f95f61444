/** Brings a schema in PostgreSQL up to date, by one process at a time. */
import { setTimeout as delay } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import { integer, type Row, text, textOrNull } from '../columns.ts';
import { StoreError } from '../errors.ts';
import type { Connection, Query } from './connection.ts';
import { isConflict, sqlState } from './error-mapping.ts';

interface SchemaChange<M> {
  readonly lock: keyof typeof ADVISORY_LOCKS;
  /** What the database still needs. */
  pending(query: Query): Promise<readonly M[]>;
  apply(query: Query, migrations: readonly M[]): Promise<void>;
}

/** How a migration waits for tables that another transaction has locked, as a dump or an open session of psql does. */
interface LockWaits {
  /**
   * Requests wait behind the migration: for less than the 5 s after which they fail. After 1 s (`deadlock_timeout`) the server
   * ends an autovacuum that is in the way.
   */
  readonly waitMs: number;
  readonly pauseMs: number;
  readonly tries: number;
}

const LOCK_WAITS: LockWaits = { waitMs: 2_000, pauseMs: 5_000, tries: 6 };
const LOCK_NOT_AVAILABLE = '55P03';

export async function migrateSchema<M>(
  connection: Connection,
  { lock, pending, apply }: SchemaChange<M>,
  { waitMs, pauseMs, tries }: LockWaits = LOCK_WAITS,
): Promise<void> {
  // A database that is up to date needs no privilege to change it.
  if ((await pending((sql, values) => connection.query(sql, values))).length === 0) return;
  const change = async (query: Query): Promise<void> => {
    // Another process may be at it, or the tables be large: this one waits as long as that needs.
    await query('SET LOCAL lock_timeout = 0');
    await query('SET LOCAL statement_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[lock]]);
    await query(`SET LOCAL lock_timeout = ${waitMs}`);
    const migrations = await pending(query);
    if (migrations.length > 0) await apply(query, migrations);
  };
  for (let left = tries; ; left--) {
    try {
      return await connection.transaction('', change, null);
    } catch (error) {
      // A request may have locked the tables in another order.
      if (sqlState(error) !== LOCK_NOT_AVAILABLE && !isConflict(error)) throw error;
      if (left <= 1) throw await lockedTables(connection, error);
      await delay(pauseMs);
    }
  }
}

async function lockedTables(connection: Connection, cause: unknown): Promise<StoreError> {
  const [holder] = await connection.query(
    `SELECT a.pid, coalesce(nullif(a.application_name, ''), 'without a name') AS name, a.xact_start::text AS since
    FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid() AND EXISTS (
      SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
      WHERE l.pid = a.pid AND l.granted AND c.relnamespace = 'gateway'::regnamespace
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    ORDER BY a.xact_start LIMIT 1`,
  );
  const who = holder === undefined ? 'another process of the server' : describeHolder(holder);
  return new StoreError(
    `The schema of the database was not changed: ${who} has locked tables of it. Start again when that has ended (a dump, a report or a session of psql that is in a transaction).`,
    { cause },
  );
}

function describeHolder(holder: Row): string {
  const since = textOrNull(holder, 'since');
  return `process ${integer(holder, 'pid')} of the server (${text(holder, 'name')}${since === null ? '' : `, since ${since}`})`;
}

/**
 * Whether the gateway's schema has all of these tables. Not by `to_regclass`: in a transaction that has waited for a lock it may
 * still remember that there was none.
 */
export async function hasTables(query: Query, ...names: readonly string[]): Promise<boolean> {
  const found = await query(
    `SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'gateway' AND c.relname = ANY($1)`,
    [names],
  );
  return found.length === names.length;
}
