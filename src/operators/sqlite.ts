/**
 * The operators' store beside the ledger's, in a file of its own: what operators do never waits for the ledger's commits,
 * nor they for it. A commit is written to the file's log at once; the wait for the disk happens outside of this thread.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { asStoreError } from '../ledger/errors.ts';
import type { Row } from '../storage/columns.ts';
import type { OperatorStore } from './port.ts';
import { SQLITE_MIGRATIONS } from './schema.ts';
import { type SqlEngine, SqlOperatorStore, type Value } from './sql-store.ts';

/** The write-ahead log of a file, as it reaches the disk. */
interface LogFlusher {
  flushed(): Promise<void>;
  close(): void;
}

interface SqliteOperatorStoreOptions {
  readonly file: string;
  openLog(file: string): LogFlusher;
}

export function openSqliteOperatorStore(options: SqliteOperatorStoreOptions): OperatorStore {
  return new SqlOperatorStore(openSqliteEngine(options));
}

/** For what else is kept in the same file. */
export function openSqliteEngine(options: SqliteOperatorStoreOptions): SqlEngine {
  return new SqliteEngine(options);
}

/** Creates the tables, or brings them to the newest schema. */
export function createOperatorTables(database: DatabaseSync): void {
  migrate(database);
}

/** Ends the sessions and sign-in links of a file that nobody has open; tokens stay. */
export function endSessions(file: string, nowMs: number): void {
  const database = new DatabaseSync(file);
  try {
    database
      .prepare(
        `UPDATE operator_credentials SET ended_at_ms = ? WHERE kind IN ('session', 'sign_in') AND ended_at_ms IS NULL`,
      )
      .run(nowMs);
  } finally {
    database.close();
  }
}

class SqliteEngine implements SqlEngine {
  readonly #database: DatabaseSync;
  readonly #log: LogFlusher;
  readonly #statements = new Map<string, StatementSync>();

  constructor({ file, openLog }: SqliteOperatorStoreOptions) {
    this.#database = new DatabaseSync(file, { readBigInts: true, timeout: 2_000 });
    try {
      this.#database.exec(`
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA foreign_keys = ON;
        PRAGMA cache_size = -1000;`);
      migrate(this.#database);
      this.#log = openLog(file);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  async read(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return this.#statement(sql).all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])));
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async write(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    const rows = await this.read(sql, values);
    try {
      await this.#log.flushed();
    } catch (error) {
      throw asStoreError(error);
    }
    return rows;
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql.replaceAll('@', ''));
    this.#statements.set(sql, statement);
    return statement;
  }

  async close(): Promise<void> {
    await this.#log.flushed();
    this.#log.close();
    this.#database.close();
  }
}

function migrate(database: DatabaseSync): void {
  // A file of a later release is used as it is: releases only add to it.
  if (versionOf(database) >= SQLITE_MIGRATIONS.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const sql of SQLITE_MIGRATIONS.slice(versionOf(database))) database.exec(sql);
    database.exec(`PRAGMA user_version = ${SQLITE_MIGRATIONS.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}
