/**
 * The operators' store beside the ledger's, in a file of its own: what operators do never waits for the ledger's commits,
 * nor they for it. A commit is written to the file's log at once; the wait for the disk happens outside of this thread.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Row } from '../storage/columns.ts';
import { asStoreError, StoreError } from '../storage/errors.ts';
import type { SqlEngine, Value } from '../storage/sql-engine.ts';
import { isDamage, openSqliteFile } from '../storage/sqlite.ts';
import { SQLITE_MIGRATIONS } from './schema.ts';

/** A write-ahead log, as it reaches the disk. */
interface LogFlusher {
  flushed(): Promise<void>;
  close(): void;
}

interface SqliteOperatorStoreOptions {
  readonly file: string;
  openLog(file: string): LogFlusher;
}

/** For operators, and for what else is kept in the same file. */
export function openSqliteEngine(options: SqliteOperatorStoreOptions): SqlEngine {
  return new SqliteEngine(options);
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

/** Says which file is damaged, and what to do: the one beside it, of the ledger, may be whole. */
function failureOf(error: unknown, file: string): StoreError {
  if (!isDamage(error)) return asStoreError(error);
  const { message } = asStoreError(error);
  return new StoreError(
    `The database ${file} is damaged (${message}): stop the gateway, and restore the data folder from a backup; or move this file and those that begin with its name aside, to begin without operators, what they have defined, alerts and the audit trail.`,
    { cause: error },
  );
}

class SqliteEngine implements SqlEngine {
  readonly #file: string;
  readonly #database: DatabaseSync;
  readonly #log: LogFlusher;
  readonly #statements = new Map<string, StatementSync>();

  constructor({ file, openLog }: SqliteOperatorStoreOptions) {
    this.#file = file;
    try {
      this.#database = openSqliteFile(file, {
        waitMs: 2_000,
        settings: `
          PRAGMA journal_mode = WAL;
          PRAGMA synchronous = NORMAL;
          PRAGMA foreign_keys = ON;
          PRAGMA cache_size = -1000;`,
        migrations: SQLITE_MIGRATIONS,
      });
    } catch (error) {
      throw failureOf(error, file);
    }
    try {
      this.#log = openLog(`${file}-wal`);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  async read(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
    try {
      return this.#statement(sql).all(Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value])));
    } catch (error) {
      throw failureOf(error, this.#file);
    }
  }

  async write(sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
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
