/** The operators' store in the database that all gateways share: a token that one of them revokes ends at every one. */
import { asStoreError } from '../ledger/errors.ts';
import { ADVISORY_LOCKS } from '../storage/advisory-locks.ts';
import { integer, type Row } from '../storage/columns.ts';
import type { OperatorStore } from './port.ts';
import { POSTGRES_MIGRATIONS } from './schema.ts';
import { type SqlEngine, SqlOperatorStore, type Value } from './sql-store.ts';

export interface PostgresConnection {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  transaction<T>(mode: string, work: (query: PostgresConnection['query']) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openPostgresOperatorStore(connection: PostgresConnection): Promise<OperatorStore> {
  return new SqlOperatorStore(await openPostgresEngine(connection));
}

/** For what else is kept in the same tables. */
export async function openPostgresEngine(connection: PostgresConnection): Promise<SqlEngine> {
  await migrate(connection);
  return new PostgresEngine(connection);
}

/** A table of the schema's own: which migrations were applied. */
export const OPERATOR_SCHEMA_TABLE = 'operator_schema';

/** Creates the tables, or brings them to the newest schema. */
export async function createOperatorTables(connection: PostgresConnection): Promise<void> {
  await migrate(connection);
}

class PostgresEngine implements SqlEngine {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  async read(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return await this.#connection.query(sql.replaceAll('@', 'gateway.'), values);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  write(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.read(sql, values);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

async function migrate(connection: PostgresConnection): Promise<void> {
  if ((await versionIn((sql) => connection.query(sql))) >= POSTGRES_MIGRATIONS.length) return;
  await connection.transaction('', async (query) => {
    await query('SET LOCAL lock_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.operatorMigration]);
    const version = await versionIn(query);
    for (const sql of POSTGRES_MIGRATIONS.slice(version)) await query(sql);
    await query(`CREATE TABLE IF NOT EXISTS gateway.operator_schema (version integer PRIMARY KEY)`);
    for (let number = version + 1; number <= POSTGRES_MIGRATIONS.length; number++) {
      await query('INSERT INTO gateway.operator_schema (version) VALUES ($1)', [number]);
    }
  });
}

async function versionIn(query: (sql: string) => Promise<readonly Row[]>): Promise<number> {
  const tables = await query(`SELECT 1 AS found FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'gateway' AND c.relname = 'operator_schema'`);
  if (tables.length === 0) return 0;
  const [row] = await query('SELECT coalesce(max(version), 0)::text AS version FROM gateway.operator_schema');
  return row === undefined ? 0 : integer(row, 'version');
}
