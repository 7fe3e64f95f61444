/** Statements that write a number of rows, which travel with them. */
import { arrayLiteral, rowLiteral } from '../../storage/postgres/array-literal.ts';
import type { Send } from '../../storage/postgres/connection.ts';

/** A column of a type of the schema: its name, and what a row has there. */
type Column<T> = readonly [name: string, of: (row: T) => unknown];
/** The columns of a statement: name, type, and what a row has there. */
export type Columns<T> = readonly (readonly [name: string, type: string, of: (row: T) => unknown])[];

/**
 * Up to so many rows are values of their own; more are an array per column, of which each row takes its element. That of sixteen
 * charges takes the server 310 µs, as values 386 and with `unnest`, which makes a table of each array first, 412; that of one 118, 88 and 128.
 */
const FEW_ROWS = 4;

/** `text` has `ROWS` where the rows stand, as `n`. */
export function statement<T>(name: string, columns: Columns<T>, text: string): (send: Send, rows: Iterable<T>) => void {
  const names = columns.map(([column]) => column).join(', ');
  const from = (rows: string): string => text.replace('ROWS', `${rows} AS n(${names})`).replace('NAMES', names);
  const elements = columns.map(([, type], index) => `($${index + 1}::${type}[])[i]`).join(', ');
  const ofArrays = from(`(SELECT ${elements} FROM generate_series(1, cardinality($1::text[])) AS i)`);
  const row = (at: number): string =>
    `(${columns.map(([, type], index) => `$${at * columns.length + index + 1}::${type}`).join(', ')})`;
  const ofValues = Array.from({ length: FEW_ROWS + 1 }, (_, count) =>
    from(`(VALUES ${Array.from({ length: count }, (_, at) => row(at)).join(', ')})`),
  );
  return (send, rows) => {
    const all = [...rows];
    const few = ofValues[all.length];
    if (all.length === 0) return;
    if (few === undefined) {
      const arrays = columns.map(([, , of]) => arrayLiteral(all.map(of)));
      send(ofArrays, arrays, name);
    } else {
      const values = all.flatMap((row) => columns.map(([, , of]) => of(row)));
      send(few, values, `${name}-${all.length}`);
    }
  };
}

export function insertion<T>(name: string, table: string, columns: Columns<T>) {
  return statement(name, columns, `INSERT INTO gateway.${table} (NAMES) SELECT n.* FROM ROWS`);
}

/**
 * Rows of a type of the schema travel as one array of them: six holds take the server 58 µs so, and 75 as an array per column. The type
 * has these columns, in this order. `constant`: a column that is the same in all of them, and its value in SQL.
 */
export function typedInsertion<T>(
  name: string,
  table: string,
  type: string,
  columns: readonly Column<T>[],
  constant: readonly [column: string, value: string] | null = null,
) {
  const names = columns.map(([column]) => column).join(', ');
  const [column, value] = constant === null ? ['', ''] : [`, ${constant[0]}`, `, ${constant[1]}`];
  const text = `INSERT INTO gateway.${table} (${names}${column}) SELECT n.*${value} FROM unnest($1::gateway.${type}[]) AS n`;
  return (send: Send, rows: Iterable<T>): void => {
    const literals = Array.from(rows, (row) => rowLiteral(columns.map(([, of]) => of(row))));
    if (literals.length > 0) send(text, [arrayLiteral(literals)], name);
  };
}
