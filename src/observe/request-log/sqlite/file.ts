/**
 * The file of the request log. Nothing of it is money: a commit is not flushed to the disk, so that it takes microseconds,
 * and survives the process but perhaps not the machine; a damaged file is put aside and a new one begun.
 */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** Only a neighbour's batch, or a step of pruning, is waited for. */
const WAIT_MS = 20;

export function requestLogFile(dataDir: string): string {
  return join(dataDir, 'requests.db');
}

/** Each only adds to what the ones before have made. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE requests (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL,
     received_at_ms INTEGER NOT NULL,
     key_id TEXT,
     model TEXT,
     status INTEGER,
     condition TEXT,
     duration_ms INTEGER NOT NULL,
     cost_nanos INTEGER,
     detail TEXT NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX requests_by_id ON requests (id);
   CREATE INDEX requests_failed ON requests (condition, id) WHERE condition IS NOT NULL;`,
  `CREATE TABLE captures (
     id TEXT PRIMARY KEY,
     expires_at_ms INTEGER NOT NULL,
     cut INTEGER NOT NULL,
     request BLOB NOT NULL,
     response BLOB NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX captures_by_expiry ON captures (expires_at_ms);`,
];

/** `aside`: told where a damaged file was moved to. */
export function openRequestLogFile(file: string, aside: (moved: string) => void = () => {}): DatabaseSync {
  try {
    return opened(file);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const moved = `${file}.damaged-${Date.now()}`;
    renameSync(file, moved);
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    aside(moved);
    return opened(file);
  }
}

function opened(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { readBigInts: true, timeout: WAIT_MS });
  try {
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA cache_size = -2000;
      PRAGMA journal_size_limit = 16777216;`);
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function migrate(database: DatabaseSync): void {
  if (versionOf(database) >= MIGRATIONS.length) return;
  // Several threads may open it at once.
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  try {
    for (const sql of MIGRATIONS.slice(versionOf(database))) database.exec(sql);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT; PRAGMA busy_timeout = ${WAIT_MS}`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** A file of a later release is used as it is: releases only add to it. */
function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}

export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

function resultCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
}
