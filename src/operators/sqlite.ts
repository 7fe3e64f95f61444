/**
 * The operators' store beside the ledger's, in a file of its own: what operators do never waits for the ledger's commits,
 * nor they for it. A commit is written to the file's log at once; the wait for the disk happens outside of this thread.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { asStoreError } from '../ledger/errors.ts';
import type { OperatorStore } from './port.ts';
import { type Row, type SqlEngine, SqlOperatorStore, type Value } from './sql-store.ts';

/** The write-ahead log of a file, as it reaches the disk. */
export interface LogFlusher {
  flushed(): Promise<void>;
  close(): void;
}

export interface SqliteOperatorStoreOptions {
  readonly file: string;
  openLog(file: string): LogFlusher;
}

/** Each only adds to what the ones before have made. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE operators (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     role TEXT NOT NULL,
     account_id TEXT,
     created_at_ms INTEGER NOT NULL,
     revoked_at_ms INTEGER
   ) STRICT;
   CREATE UNIQUE INDEX operators_by_name ON operators (name) WHERE revoked_at_ms IS NULL;
   INSERT INTO operators (id, name, role, created_at_ms) VALUES ('owner', 'owner', 'owner', 0);
   CREATE TABLE operator_credentials (
     id TEXT PRIMARY KEY,
     kind TEXT NOT NULL,
     operator_id TEXT NOT NULL REFERENCES operators (id),
     digest TEXT NOT NULL UNIQUE,
     label TEXT,
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER NOT NULL,
     ended_at_ms INTEGER
   ) STRICT;
   CREATE INDEX operator_credentials_by_operator ON operator_credentials (operator_id);
   CREATE TABLE audit_trail (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     at_ms INTEGER NOT NULL,
     actor_id TEXT,
     actor_name TEXT,
     actor_role TEXT,
     actor_account TEXT,
     via TEXT,
     action TEXT NOT NULL,
     target TEXT,
     outcome TEXT NOT NULL,
     reason TEXT,
     state_before TEXT,
     state_after TEXT,
     address TEXT,
     user_agent TEXT,
     request_id TEXT
   ) STRICT;
   CREATE INDEX audit_trail_by_target ON audit_trail (target, number);
   CREATE TRIGGER audit_trail_no_update BEFORE UPDATE ON audit_trail BEGIN SELECT raise(ABORT, 'the audit trail is append-only'); END;
   CREATE TRIGGER audit_trail_no_delete BEFORE DELETE ON audit_trail BEGIN SELECT raise(ABORT, 'the audit trail is append-only'); END;
   CREATE TABLE operator_replies (
     name TEXT PRIMARY KEY,
     fingerprint TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     reply TEXT
   ) STRICT;
   CREATE INDEX operator_replies_by_time ON operator_replies (at_ms);`,
  `CREATE TABLE alerts (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL,
     target TEXT NOT NULL,
     type TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     body TEXT NOT NULL,
     state TEXT NOT NULL,
     attempts INTEGER NOT NULL,
     due_at_ms INTEGER NOT NULL,
     leased_until_ms INTEGER NOT NULL,
     error TEXT,
     UNIQUE (id, target)
   ) STRICT;
   CREATE INDEX alerts_due ON alerts (due_at_ms) WHERE state = 'pending';
   CREATE TABLE alert_bases (subject TEXT PRIMARY KEY, purchased TEXT NOT NULL, used TEXT NOT NULL) STRICT;
   CREATE TABLE account_webhooks (account_id TEXT PRIMARY KEY, url TEXT NOT NULL, sealed_secret TEXT NOT NULL) STRICT;
   CREATE TABLE alert_watch (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT;`,
  `ALTER TABLE operator_credentials ADD COLUMN made_with TEXT;
   CREATE TABLE operator_settings (
     subject TEXT NOT NULL,
     field TEXT NOT NULL,
     value TEXT NOT NULL,
     PRIMARY KEY (subject, field)
   ) STRICT;
   CREATE TABLE ended_page_sessions (id TEXT PRIMARY KEY, ends_at_ms INTEGER NOT NULL) STRICT;`,
];

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
  readonly schema = '';
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
    const statement = this.#database.prepare(sql);
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
  if (versionOf(database) >= MIGRATIONS.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    for (const sql of MIGRATIONS.slice(versionOf(database))) database.exec(sql);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}
