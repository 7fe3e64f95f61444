/** Readers of column values. A value of another type means a broken database, and throws. */
import type { SQLOutputValue } from 'node:sqlite';
import type { ColumnReaders } from '../rules/column-readers.ts';

export type Row = Record<string, SQLOutputValue>;

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

export function amount(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== 'bigint') throw new TypeError(`column ${column} holds no integer`);
  return value;
}

export function amountOrNull(row: Row, column: string): bigint | null {
  return row[column] === null ? null : amount(row, column);
}

export function integer(row: Row, column: string): number {
  return Number(amount(row, column));
}

export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
  return value;
}

export function readersOf(row: Row): ColumnReaders {
  return {
    text: (column) => text(row, column),
    amount: (column) => amount(row, column),
    isNull: (column) => row[column] === null,
  };
}
