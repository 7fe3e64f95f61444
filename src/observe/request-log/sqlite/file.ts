/**
 * The file of the request log. Nothing of it is money: a commit is not flushed to the disk, so that it takes microseconds,
 * and survives the process but perhaps not the machine; a damaged file is put aside and a new one begun.
 */
import { renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { isDamage, openSqliteFile } from '../../../storage/sqlite.ts';
import { FAILURE_MIGRATIONS, FAILURE_SETTINGS, failuresFile } from '../../failures/sqlite.ts';

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

/**
 * The file as it is there now: opened when it is first asked for, and again where another one has taken its place, since a
 * damaged one was put aside or somebody has removed it. Whoever kept the old one would write and read what nobody sees.
 */
export class RequestLogFile {
  readonly file: string;
  readonly #settings: string;
  readonly #migrations: readonly string[];
  #database: DatabaseSync | null = null;
  /** Of the file that was opened, or that could not be. */
  #inode: bigint | null = null;

  /** `settings`: what else a connection is set to. */
  constructor(file: string, settings = '', migrations = MIGRATIONS) {
    this.file = file;
    this.#settings = settings;
    this.#migrations = migrations;
  }

  /** Null where there is none. */
  existing(): DatabaseSync | null {
    return this.#inodeNow() === null ? null : this.opened();
  }

  /** Made where there is none. */
  opened(): DatabaseSync {
    const inode = this.#inodeNow();
    if (this.#database !== null && inode === this.#inode) return this.#database;
    this.close();
    this.#inode = inode;
    this.#database = opened(this.file, this.#settings, this.#migrations);
    this.#inode = this.#inodeNow();
    return this.#database;
  }

  /**
   * To be called by those who keep the log, with what opening or using the file has failed with: where the file is damaged, it
   * is moved to the path that is returned, and the next call of `opened` makes a new one.
   */
  putAside(error: unknown): string | null {
    if (!isDamage(error)) return null;
    this.close();
    // Another thread may have been first.
    if (this.#inode === null || this.#inodeNow() !== this.#inode) return null;
    const moved = `${this.file}.damaged-${Date.now()}`;
    renameSync(this.file, moved);
    for (const suffix of ['-wal', '-shm']) rmSync(`${this.file}${suffix}`, { force: true });
    return moved;
  }

  #inodeNow(): bigint | null {
    return statSync(this.file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
  }
}

/** The counts of failed requests that lie beside a request log. */
export function failuresBeside(file: string): RequestLogFile {
  return new RequestLogFile(failuresFile(file), FAILURE_SETTINGS, FAILURE_MIGRATIONS);
}

function opened(file: string, settings: string, migrations: readonly string[]): DatabaseSync {
  const database = openSqliteFile(file, {
    waitMs: WAIT_MS,
    settings: `
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA cache_size = -2000;
      PRAGMA journal_size_limit = 16777216;`,
    migrations,
  });
  database.exec(settings);
  return database;
}
