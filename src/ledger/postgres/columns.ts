/**
 * Readers of column values, from rows and from the functions' JSON alike: integers arrive as text, because a JavaScript
 * number cannot hold all of them. A value of another type means a broken database, and throws.
 */
import type { KeyRecord } from '../../core/key.ts';
import type { ColumnReaders } from '../rules/column-readers.ts';
import type { KeyTotals } from '../rules/key-totals.ts';
import { keyFrom, totalsFrom } from '../rules/row-mapping.ts';
import type { Row } from './connection.ts';

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function amount(row: Row, column: string): bigint {
  return BigInt(text(row, column));
}

export function integer(row: Row, column: string): number {
  return Number(amount(row, column));
}

export function readTotals(row: Row): KeyTotals {
  return totalsFrom(readersOf(row));
}

export function readKey(row: Row): KeyRecord {
  return keyFrom(readersOf(row));
}

export function readersOf(row: Row): ColumnReaders {
  return {
    text: (column) => text(row, column),
    amount: (column) => amount(row, column),
    isNull: (column) => (row[column] ?? null) === null,
  };
}
