/**
 * Numbered SQL files per dialect: `migrations/<dialect>/0001-what.sql`, each applied once, in order; for PostgreSQL also
 * `functions.sql`, the functions as they are now, applied after the last of them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { StoreVersionError } from './errors.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export function readMigrations(dialect: 'sqlite' | 'postgres'): readonly Migration[] {
  const folder = new URL(`./migrations/${dialect}/`, import.meta.url);
  return readdirSync(folder)
    .filter((file) => /^\d{4}-.+\.sql$/.test(file))
    .sort()
    .map((file) => ({
      version: Number(file.slice(0, 4)),
      name: file.slice(5, -4),
      sql: readFileSync(new URL(file, folder), 'utf8'),
    }));
}

export function readFunctions(): string {
  return readFileSync(new URL('./migrations/postgres/functions.sql', import.meta.url), 'utf8');
}

/** The migrations that a database at `version` still needs; throws when it is ahead of this release. */
export function pendingMigrations(migrations: readonly Migration[], version: number): readonly Migration[] {
  const newest = migrations.at(-1)?.version ?? 0;
  if (version > newest) {
    throw new StoreVersionError(
      `The database is at version ${version}, this release knows up to ${newest}: start the newer release that wrote it.`,
    );
  }
  return migrations.filter((migration) => migration.version > version);
}
