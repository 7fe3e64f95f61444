/**
 * Rows that wait until the end of their batch to be inserted several at a time, for half of what they cost one by one.
 * Whoever reads the table before must have them written first.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

const ROWS_AT_ONCE = 8;

export class BatchInsert {
  readonly #one: StatementSync;
  readonly #many: StatementSync;
  #rows: (readonly SQLInputValue[])[] = [];

  /** `into` is what stands behind INSERT. */
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

  write(): void {
    const rows = this.#rows;
    if (rows.length === 0) return;
    this.#rows = [];
    let at = 0;
    for (; at + ROWS_AT_ONCE <= rows.length; at += ROWS_AT_ONCE) {
      this.#many.run(...rows.slice(at, at + ROWS_AT_ONCE).flat());
    }
    for (; at < rows.length; at++) this.#one.run(...(rows[at] ?? []));
  }

  /** After a rollback. */
  drop(): void {
    this.#rows = [];
  }
}
