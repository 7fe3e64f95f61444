/** Appends batches from a serving thread, on a connection of its own: a batch takes a fraction of a millisecond. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { inTransaction } from '../../../storage/sqlite.ts';
import { addFailures } from '../../failures/sqlite.ts';
import type { FailureCount } from '../../failures/store.ts';
import { COLUMNS, type RequestEntry } from '../entry.ts';
import type { CapturedContent, RequestLogAppender } from '../store.ts';
import { failuresBeside, RequestLogFile } from './file.ts';

/** One statement for several rows takes less than one for each. */
const ROWS = 16;

interface Prepared {
  readonly database: DatabaseSync;
  readonly one: StatementSync;
  readonly several: StatementSync;
  readonly capture: StatementSync;
}

/** The file is opened with the first batch. */
export class SqliteAppender implements RequestLogAppender {
  readonly #file: RequestLogFile;
  readonly #failures: RequestLogFile;
  readonly #aside: (moved: string) => void;
  #prepared: Prepared | null = null;

  /** `aside`: told where a damaged file was moved to. */
  constructor(file: string, aside: (moved: string) => void) {
    this.#file = new RequestLogFile(file);
    this.#failures = failuresBeside(file);
    this.#aside = aside;
  }

  async append(entries: readonly RequestEntry[], captured: readonly CapturedContent[] = []): Promise<void> {
    this.#inFile(this.#file, () => this.#append(entries, captured));
  }

  async count(counts: readonly FailureCount[]): Promise<void> {
    this.#inFile(this.#failures, () => addFailures(this.#failures.opened(), counts));
  }

  /** Where the file is damaged, it is done in a new one. */
  #inFile(file: RequestLogFile, work: () => void): void {
    try {
      work();
    } catch (error) {
      const moved = file.putAside(error);
      if (moved === null) throw error;
      this.#aside(moved);
      work();
    }
  }

  #append(entries: readonly RequestEntry[], captured: readonly CapturedContent[]): void {
    const database = this.#file.opened();
    if (this.#prepared?.database !== database) this.#prepared = prepared(database);
    write(this.#prepared, entries, captured);
  }

  async close(): Promise<void> {
    this.#prepared = null;
    this.#file.close();
    this.#failures.close();
  }
}

function prepared(database: DatabaseSync): Prepared {
  return {
    database,
    one: database.prepare(insertOf(1)),
    several: database.prepare(insertOf(ROWS)),
    capture: database.prepare(
      'INSERT INTO captures (id, expires_at_ms, cut, request, response) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
    ),
  };
}

function write(
  { database, one, several, capture }: Prepared,
  entries: readonly RequestEntry[],
  captured: readonly CapturedContent[],
): void {
  inTransaction(database, () => {
    let at = 0;
    for (; at + ROWS <= entries.length; at += ROWS) several.run(...entries.slice(at, at + ROWS).flatMap(valuesOf));
    for (const entry of entries.slice(at)) one.run(...valuesOf(entry));
    for (const { id, expiresAtMs, cut, request, response } of captured) {
      capture.run(id, expiresAtMs, cut ? 1 : 0, request, response);
    }
  });
}

function insertOf(rows: number): string {
  const row = `(${COLUMNS.map(() => '?').join(', ')})`;
  const values = Array.from({ length: rows }, () => row).join(', ');
  return `INSERT INTO requests (${COLUMNS.map(({ name }) => name).join(', ')}) VALUES ${values} ON CONFLICT (id) DO NOTHING`;
}

function valuesOf(entry: RequestEntry): SQLInputValue[] {
  return COLUMNS.map(({ of }) => entry[of]);
}
