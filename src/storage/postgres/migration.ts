/** Brings a schema in PostgreSQL up to date, by one process at a time. */
import { ADVISORY_LOCKS } from '../advisory-locks.ts';
import type { Connection, Query } from './connection.ts';

interface SchemaChange<M> {
  readonly lock: keyof typeof ADVISORY_LOCKS;
  /** What the database still needs. */
  pending(query: Query): Promise<readonly M[]>;
  apply(query: Query, migrations: readonly M[]): Promise<void>;
}

export async function migrateSchema<M>(
  connection: Connection,
  { lock, pending, apply }: SchemaChange<M>,
): Promise<void> {
  // A database that is up to date needs no privilege to change it.
  if ((await pending((sql, values) => connection.query(sql, values))).length === 0) return;
  const change = async (query: Query): Promise<void> => {
    // Another process may be at it, or the tables be large: this one waits as long as that needs.
    await query('SET LOCAL lock_timeout = 0');
    await query('SET LOCAL statement_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS[lock]]);
    const migrations = await pending(query);
    if (migrations.length > 0) await apply(query, migrations);
  };
  await connection.transaction('', change, null);
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
