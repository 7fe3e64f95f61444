/**
 * Readers of column values, of rows of every engine and of JSON that a function of a database made: integers arrive as bigint
 * or as text, because a JavaScript number cannot hold all of them; as a number only where their type is small. A value of another type means a broken database, and throws.
 */
export type Row = Readonly<Record<string, unknown>>;

export function isNull(row: Row, column: string): boolean {
  return (row[column] ?? null) === null;
}

export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function textOrNull(row: Row, column: string): string | null {
  return isNull(row, column) ? null : text(row, column);
}

export function amount(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'string' && !Number.isSafeInteger(value))
    throw new TypeError(`column ${column} holds no integer`);
  return BigInt(value as string | number);
}

export function amountOrNull(row: Row, column: string): bigint | null {
  return isNull(row, column) ? null : amount(row, column);
}

export function integer(row: Row, column: string): number {
  return Number(amount(row, column));
}

export function integerOrNull(row: Row, column: string): number | null {
  return isNull(row, column) ? null : integer(row, column);
}

/** What is true is a number where an engine has no other type for it. */
export function flag(row: Row, column: string): boolean {
  const value = row[column];
  return value === true || value === 1n;
}

export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
  return value;
}

/** The texts of one column in the order of the rows, by those of another. */
export function textsBy(rows: readonly Row[], by: string, column: string): ReadonlyMap<string, readonly string[]> {
  const groups = Map.groupBy(rows, (row) => text(row, by));
  return new Map([...groups].map(([name, group]) => [name, group.map((row) => text(row, column))]));
}
