/** What a database is made of, one line per column, constraint, index, trigger, type and function, to compare two of them. */
import type { DatabaseSync } from 'node:sqlite';
import type { TestPostgres } from './postgres.ts';

const POSTGRES_PARTS = `
  SELECT 'table ' || c.relname || ' ' || c.relkind::text || ' ' || coalesce(array_to_string(c.reloptions, ' '), '') AS line
    FROM pg_class c WHERE c.relnamespace = 'gateway'::regnamespace AND c.relkind <> 'i'
  UNION ALL SELECT concat_ws(' ', 'column', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
      (SELECT collname FROM pg_collation WHERE oid = a.attcollation), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'gateway'::regnamespace AND c.relkind <> 'i' AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'gateway'::regnamespace
  UNION ALL SELECT 'index ' || pg_get_indexdef(i.indexrelid)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'gateway'::regnamespace
  UNION ALL SELECT 'trigger ' || pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = 'gateway'::regnamespace AND NOT tgisinternal
  UNION ALL SELECT 'function ' || pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'gateway'::regnamespace`;

export async function postgresSchema(server: TestPostgres, database: string): Promise<readonly string[]> {
  const rows = await server.query(database, POSTGRES_PARTS);
  return rows.map(({ line }) => String(line)).sort();
}

export function sqliteSchema(database: DatabaseSync): readonly string[] {
  const rows = database.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  return rows.map(({ sql }) => String(sql)).sort();
}
