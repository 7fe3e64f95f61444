/** The operators' store in the database that all gateways share: a token that one of them revokes ends at every one. */
import { integer } from '../storage/columns.ts';
import { asStoreError } from '../storage/errors.ts';
import type { Connection, Query } from '../storage/postgres/connection.ts';
import { hasTables, migrateSchema } from '../storage/postgres/migration.ts';
import type { SqlEngine } from '../storage/sql-engine.ts';
import { POSTGRES_MIGRATIONS } from './schema.ts';

/** A table of the schema's own: which migrations were applied. */
export const OPERATOR_SCHEMA_TABLE = 'operator_schema';

/** For operators, and for what else is kept in the same tables. */
export async function openPostgresEngine(connection: Connection): Promise<SqlEngine> {
  await createOperatorTables(connection);
  const run: SqlEngine['read'] = async (sql, values) => {
    try {
      return await connection.query(sql.replaceAll('@', 'gateway.'), values);
    } catch (error) {
      throw asStoreError(error);
    }
  };
  return { read: run, write: run, close: () => connection.close() };
}

/** Creates the tables, or brings them to the newest schema. */
export async function createOperatorTables(connection: Connection): Promise<void> {
  await migrateSchema(connection, {
    lock: 'operatorMigration',
    pending: async (query) => POSTGRES_MIGRATIONS.slice(await versionIn(query)),
    sqlOf: (sql) => sql,
    apply: async (query, migrations) => {
      for (const sql of migrations) await query(sql);
      await query(`CREATE TABLE IF NOT EXISTS gateway.${OPERATOR_SCHEMA_TABLE} (version integer PRIMARY KEY)`);
      const newest = POSTGRES_MIGRATIONS.length;
      await query(
        `INSERT INTO gateway.${OPERATOR_SCHEMA_TABLE} (version) SELECT generate_series($1::integer, $2::integer)`,
        [newest - migrations.length + 1, newest],
      );
    },
  });
}

async function versionIn(query: Query): Promise<number> {
  if (!(await hasTables(query, OPERATOR_SCHEMA_TABLE))) return 0;
  const [row] = await query(`SELECT coalesce(max(version), 0) AS version FROM gateway.${OPERATOR_SCHEMA_TABLE}`);
  return row === undefined ? 0 : integer(row, 'version');
}
