/** What every SQLite file has in common: how it is opened and brought to its newest schema, and what its errors mean. */
import { DatabaseSync } from 'node:sqlite';

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** Several threads or processes may open a file at once, and one of them migrates it. */
const MIGRATION_WAIT_MS = 5_000;

interface SqliteFileOptions {
  /** How long somebody else's commit is waited for. */
  readonly waitMs: number;
  /** What a connection is set to. */
  readonly settings: string;
  readonly migrations: readonly string[];
}

export function openSqliteFile(file: string, { waitMs, settings, migrations }: SqliteFileOptions): DatabaseSync {
  const database = new DatabaseSync(file, { readBigInts: true, timeout: waitMs });
  try {
    database.exec(settings);
    migrateFile(database, migrations, waitMs);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Applies the migrations that the file does not have yet, as many as its `user_version` says it has. A file of a later release
 * is used as it is: releases only add to it.
 */
export function migrateFile(database: DatabaseSync, migrations: readonly string[], waitMs = 0): void {
  const versionNow = (): number => Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
  if (versionNow() >= migrations.length) return;
  database.exec(`PRAGMA busy_timeout = ${MIGRATION_WAIT_MS}`);
  applyPending(
    database,
    () => migrations.slice(versionNow()),
    (sql) => {
      database.exec(sql);
      database.exec(`PRAGMA user_version = ${versionNow() + 1}`);
    },
  );
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
}

/** Each in a transaction of its own, in which it is looked up: another process may have been first. */
export function applyPending<M>(
  database: DatabaseSync,
  pending: () => readonly M[],
  apply: (migration: M) => void,
): void {
  while (pending().length > 0) {
    inTransaction(database, () => {
      const [next] = pending();
      if (next !== undefined) apply(next);
    });
  }
}

/** Undone when `work` fails. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

export function rollBack(database: DatabaseSync): void {
  // On some failures SQLite has rolled back by itself.
  if (database.isTransaction) database.exec('ROLLBACK');
}

/** SQLite's primary result code: the low byte; the rest says more about it. Null where the error is not SQLite's. */
export function sqliteCode(error: unknown): number | null {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : null;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether what the file holds is damaged, or no database at all. */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
