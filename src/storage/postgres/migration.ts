/** Brings a schema in PostgreSQL up to date, by one process at a time. */
import { setTimeout as delay } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import { integer, text, textOrNull } from '../columns.ts';
import { StoreError } from '../errors.ts';
import type { Connection, Query } from './connection.ts';
import { isConflict, sqlState } from './error-mapping.ts';

/** What a change of the schema waits for, for whoever started it. */
export type OnWait = (message: string) => void;

interface SchemaChange<M> {
  readonly lock: keyof typeof ADVISORY_LOCKS;
  readonly onWait?: OnWait | undefined;
  /** What the database still needs: asked without a lock, and again with it. */
  pending(query: Query): Promise<readonly M[]>;
  sqlOf(migration: M): string;
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
const CANCELED = '57014';
/** Requests lock them first, in this order, unless they are of keys with accounts and of others at once. */
const LOCKED_FIRST = ['owners', 'tree_accounts', 'accounts'];

export async function migrateSchema<M>(
  connection: Connection,
  { lock, onWait, pending, sqlOf, apply }: SchemaChange<M>,
  waits: LockWaits = LOCK_WAITS,
): Promise<void> {
  // A database that is up to date needs no privilege to change it.
  if ((await pending((sql, values) => connection.query(sql, values))).length === 0) return;
  const change = async (query: Query): Promise<void> => {
    // Whoever starts while another process changes the schema waits for as long as that takes.
    await query('SET LOCAL lock_timeout = 0');
    await query('SET LOCAL statement_timeout = 0');
    await query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const [taken] = await query('SELECT pg_try_advisory_xact_lock($1) AS first', [ADVISORY_LOCKS[lock]]);
    if (taken?.first !== true) {
      onWait?.('Another process changes the schema of the database: waiting for it.');
      await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[lock]]);
    }
    const migrations = await pending(query);
    if (migrations.length === 0) return;
    await lockTables(query, migrations.map(sqlOf).join('\n'), waits, onWait);
    await apply(query, migrations);
  };
  await connection.transaction('', change, null);
}

/**
 * All tables that the migrations name, before any of their work is done: requests wait for all of the locks together no longer than
 * `waitMs`, and between the tries not at all.
 */
async function lockTables(
  query: Query,
  sql: string,
  { waitMs, pauseMs, tries }: LockWaits,
  onWait: OnWait | undefined,
): Promise<void> {
  const named = Array.from(sql.matchAll(/\bgateway\.(\w+)/g), ([, name]) => name);
  const tables = await query(
    `SELECT c.oid, c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'gateway' AND c.relkind IN ('r', 'p') AND c.relname = ANY($1)
    ORDER BY array_position($2, c.relname::text), c.relname`,
    [named, LOCKED_FIRST],
  );
  if (tables.length === 0) return;
  const names = tables.map((row) => text(row, 'name')).join(', ');
  const oids = tables.map((row) => integer(row, 'oid'));
  await query('SAVEPOINT tables');
  for (let left = tries; ; left--) {
    try {
      await query(`SET LOCAL statement_timeout = ${waitMs}`);
      await query(`LOCK TABLE ${names} IN ACCESS EXCLUSIVE MODE`);
      await query('SET LOCAL statement_timeout = 0');
      return;
    } catch (error) {
      // A request may have locked them in another order.
      if (sqlState(error) !== CANCELED && !isConflict(error)) throw error;
      await query('ROLLBACK TO SAVEPOINT tables');
      if (left <= 1) {
        throw new StoreError(
          `The schema of the database was not changed: ${await holderOf(query, oids)} has locked tables of it. Start again when that has ended (a dump, a report or a session of psql that is in a transaction).`,
          { cause: error },
        );
      }
      if (left === tries) {
        onWait?.(
          `Waiting to change the schema of the database: ${await holderOf(query, oids)} has locked tables of it.`,
        );
      }
    }
    await delay(pauseMs);
  }
}

async function holderOf(query: Query, oids: readonly number[]): Promise<string> {
  await query('SELECT pg_stat_clear_snapshot()');
  // Gateways lock them for milliseconds. Since when others do, only a privileged user is shown.
  const [holder] = await query(
    `SELECT a.pid, coalesce(nullif(a.application_name, ''), nullif(a.backend_type, 'client backend'), 'without a name') AS name,
      a.xact_start::text AS since
    FROM pg_stat_activity a
    WHERE a.pid <> pg_backend_pid() AND EXISTS (
      SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.granted AND l.relation = ANY($1::oid[])
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    ORDER BY starts_with(a.application_name, 'model-gateway'), a.xact_start NULLS FIRST LIMIT 1`,
    [oids],
  );
  if (holder === undefined) return 'another process of the server';
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
