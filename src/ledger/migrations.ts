/**
 * Numbered SQL files per dialect: `migrations/<dialect>/0001-what.sql`, each applied once, in order; for PostgreSQL also
 * `functions.sql`, the functions as they are now, applied after the last of them.
 *
 * After a migration only releases that know it can use the database, unless the file's first line says otherwise:
 * `-- compatible_from N` where what it adds is in nobody's way, so that releases from schema N on can go on.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readVersion } from '../lib/version.ts';
import { integer, integerOrNull, textOrNull } from '../storage/columns.ts';
import { StoreVersionError } from '../storage/errors.ts';
import { query, type Work } from './books/work.ts';

export type Dialect = 'sqlite' | 'postgres';

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** The schema that a release has to know to use the database after it. */
  readonly compatibleFrom: number;
}

/** The migrations from which on the table of migrations has `compatible_from` and `release`. */
const COMPATIBLE_FROM_SINCE: Readonly<Record<Dialect, number>> = { sqlite: 11, postgres: 12 };

const COMPATIBLE_FROM = /^-- compatible_from (\d+)\b/;

export function readMigrations(dialect: Dialect): readonly Migration[] {
  const folder = new URL(`./migrations/${dialect}/`, import.meta.url);
  return readdirSync(folder)
    .filter((file) => /^\d{4}-.+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const version = Number(file.slice(0, 4));
      const sql = readFileSync(new URL(file, folder), 'utf8');
      return {
        version,
        name: file.slice(5, -4),
        sql,
        compatibleFrom: Number(COMPATIBLE_FROM.exec(sql)?.[1] ?? version),
      };
    });
}

export function readFunctions(): string {
  return readFileSync(new URL('./migrations/postgres/functions.sql', import.meta.url), 'utf8');
}

export interface StoredSchema {
  /** 0 for a database without the schema. */
  readonly version: number;
  /** The schema that a release has to know to use it. */
  readonly compatibleFrom: number;
  /** The release that brought it to its version, where that is known. */
  readonly release: string | null;
}

export const NO_SCHEMA: StoredSchema = { version: 0, compatibleFrom: 0, release: null };

/** Of a database that has the table of migrations; an older release has applied what does not say the rest. */
export function* storedSchema(): Work<StoredSchema> {
  let schema = NO_SCHEMA;
  for (const row of yield* query('SELECT * FROM @migrations')) {
    const version = integer(row, 'version');
    const release = textOrNull(row, 'release');
    const needed = Math.max(schema.compatibleFrom, integerOrNull(row, 'compatible_from') ?? version);
    schema =
      version > schema.version ? { version, compatibleFrom: needed, release } : { ...schema, compatibleFrom: needed };
  }
  return schema;
}

export function* recordMigration(dialect: Dialect, { version, name, compatibleFrom }: Migration): Work<void> {
  yield* query('INSERT INTO @migrations (version, name, applied_at) VALUES ($1, $2, CURRENT_TIMESTAMP)', version, name);
  if (version < COMPATIBLE_FROM_SINCE[dialect]) return;
  yield* query(
    'UPDATE @migrations SET compatible_from = $2, release = $3 WHERE version = $1',
    version,
    compatibleFrom,
    readVersion(),
  );
}

export function newestSchema(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** The migrations that a database still needs; throws where only newer releases can use it. */
export function pendingMigrations(migrations: readonly Migration[], stored: StoredSchema): readonly Migration[] {
  requireUsable(migrations, stored);
  return migrations.filter(({ version }) => version > stored.version);
}

/** Throws a `StoreVersionError` where this release does not know the schema that the database can be used from. */
export function requireUsable(migrations: readonly Migration[], stored: StoredSchema, what = 'The database'): void {
  const newest = newestSchema(migrations);
  const { version, compatibleFrom, release } = stored;
  if (compatibleFrom <= newest) return;
  const by = release === null ? '' : ` of release ${release}`;
  throw new StoreVersionError(
    `${what} is at schema version ${version}${by}, usable from version ${compatibleFrom} on; this release knows up to ${newest}: start ${release ?? 'the release that wrote it'} or a newer one.`,
  );
}
