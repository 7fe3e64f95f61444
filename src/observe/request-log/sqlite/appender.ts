/** Appends batches from a serving thread, on a connection of its own: a batch takes a fraction of a millisecond. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { RequestEntry } from '../entry.ts';
import type { CapturedContent, RequestLogAppender } from '../store.ts';
import { isDamage, openRequestLogFile } from './file.ts';

/** One statement for several rows takes less than one for each. */
const ROWS = 16;
const COLUMNS = [
  'id',
  'received_at_ms',
  'key_id',
  'model',
  'status',
  'condition',
  'duration_ms',
  'cost_nanos',
  'detail',
];

/** The file is opened with the first batch. `aside`: told where a damaged file was moved to. */
export function openSqliteAppender(file: string, aside: (moved: string) => void): RequestLogAppender {
  return new SqliteAppender(file, aside);
}

interface Opened {
  readonly database: DatabaseSync;
  readonly one: StatementSync;
  readonly several: StatementSync;
  readonly capture: StatementSync;
}

class SqliteAppender implements RequestLogAppender {
  readonly #file: string;
  readonly #aside: (moved: string) => void;
  #opened: Opened | null = null;

  constructor(file: string, aside: (moved: string) => void) {
    this.#file = file;
    this.#aside = aside;
  }

  async append(entries: readonly RequestEntry[], captured: readonly CapturedContent[] = []): Promise<void> {
    this.#opened ??= this.#open();
    try {
      write(this.#opened, entries, captured);
    } catch (error) {
      // Opened again, a damaged file is put aside.
      if (isDamage(error)) await this.close();
      throw error;
    }
  }

  #open(): Opened {
    const database = openRequestLogFile(this.#file, this.#aside);
    return {
      database,
      one: database.prepare(insertOf(1)),
      several: database.prepare(insertOf(ROWS)),
      capture: database.prepare(
        'INSERT INTO captures (id, expires_at_ms, cut, request, response) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING',
      ),
    };
  }

  async close(): Promise<void> {
    this.#opened?.database.close();
    this.#opened = null;
  }
}

function write(
  { database, one, several, capture }: Opened,
  entries: readonly RequestEntry[],
  captured: readonly CapturedContent[],
): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    let at = 0;
    for (; at + ROWS <= entries.length; at += ROWS) several.run(...entries.slice(at, at + ROWS).flatMap(valuesOf));
    for (const entry of entries.slice(at)) one.run(...valuesOf(entry));
    for (const { id, expiresAtMs, cut, request, response } of captured) {
      capture.run(id, expiresAtMs, cut ? 1 : 0, request, response);
    }
    database.exec('COMMIT');
  } catch (error) {
    // On some failures SQLite has rolled back by itself.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function insertOf(rows: number): string {
  const row = `(${COLUMNS.map(() => '?').join(', ')})`;
  const values = Array.from({ length: rows }, () => row).join(', ');
  return `INSERT INTO requests (${COLUMNS.join(', ')}) VALUES ${values} ON CONFLICT (id) DO NOTHING`;
}

function valuesOf(entry: RequestEntry): SQLInputValue[] {
  return [
    entry.id,
    entry.receivedAtMs,
    entry.keyId,
    entry.model,
    entry.status,
    entry.condition,
    entry.durationMs,
    entry.costNanos,
    entry.detail,
  ];
}
