/**
 * Rows of one table that are inserted several at a time at the end of their transaction. Until then the table lacks them.
 *
 * Saves 1.4 of 2.9 µs a row (9eb1d8a); without it: one INSERT per row.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

const ROWS_AT_ONCE = 8;

export class BatchInsert {
  readonly #one: StatementSync;
  readonly #many: StatementSync;
  #rows: (readonly SQLInputValue[])[] = [];
  /** So many of them are in the journal. */
  #journalled = 0;

  /** `into` is what follows INSERT. */
  constructor(database: DatabaseSync, into: string, columns: readonly string[]) {
    const row = `(${columns.map(() => '?').join(', ')})`;
    const insert = `INSERT ${into} (${columns.join(', ')}) VALUES `;
    this.#one = database.prepare(insert + row);
    this.#many = database.prepare(insert + Array(ROWS_AT_ONCE).fill(row).join(', '));
  }

  /** In the order of the columns. */
  add(row: readonly SQLInputValue[]): void {
    this.#rows.push(row);
  }

  /** The rows that the journal does not have; they are still to be written. */
  forJournal(): readonly (readonly SQLInputValue[])[] {
    const rows = this.#rows.slice(this.#journalled);
    this.#journalled = this.#rows.length;
    return rows;
  }

  /** Of those that wait to be written. */
  find(is: (row: readonly SQLInputValue[]) => boolean): readonly SQLInputValue[] | undefined {
    return this.#rows.find(is);
  }

  write(): void {
    const rows = this.#rows;
    if (rows.length === 0) return;
    this.drop();
    let at = 0;
    for (; at + ROWS_AT_ONCE <= rows.length; at += ROWS_AT_ONCE) {
      this.#many.run(...valuesOf(rows, at, at + ROWS_AT_ONCE));
    }
    for (; at < rows.length; at++) this.#one.run(...(rows[at] ?? []));
  }

  /** After a rollback. */
  drop(): void {
    this.#rows = [];
    this.#journalled = 0;
  }
}

/** Eight rows in 0.7 µs, where `flat` takes 3.2. */
function valuesOf(rows: readonly (readonly SQLInputValue[])[], from: number, to: number): SQLInputValue[] {
  const values: SQLInputValue[] = [];
  for (let at = from; at < to; at++) values.push(...(rows[at] ?? []));
  return values;
}
