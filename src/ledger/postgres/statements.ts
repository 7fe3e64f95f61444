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

interface TypedInsertion<T> {
  readonly table: string;
  /** Of the schema. It has these columns, in this order. */
  readonly type: string;
  readonly columns: readonly Column<T>[];
  /** Of these columns, with their types, those that are mostly the same in all rows of a batch. */
  readonly shared: Readonly<Record<string, string>>;
  /** A column that is the same in all rows ever, and its value in SQL. */
  readonly constant?: readonly [column: string, value: string];
}

/**
 * Rows of a type of the schema travel as one array of them: six holds take the server 58 µs so, and 75 as an array per column. What all of
 * them share travels once: of 32 charges of a key below three accounts each takes it 8.8 µs so, and 11.7 otherwise; of a key without 7.1 and 7.7.
 */
export function typedInsertion<T>(name: string, { table, type, columns, shared, constant }: TypedInsertion<T>) {
  const [column, value] = constant === undefined ? ['', ''] : [`, ${constant[0]}`, `, ${constant[1]}`];
  const names = columns.map(([each]) => each);
  const from = (values: string): string =>
    `INSERT INTO gateway.${table} (${names.join(', ')}${column}) SELECT ${values}${value} FROM unnest($1::gateway.${type}[]) AS n`;
  const general = from('n.*');
  const common = columns.filter(([each]) => each in shared);
  const once = new Map(common.map(([each], index) => [each, `$${index + 2}::${shared[each]}`]));
  const sharing = from(names.map((each) => once.get(each) ?? `n.${each}`).join(', '));
  const valuesOf = columns.map(([, of]) => of);
  const ownValuesOf = columns.map(([each, of]) => (once.has(each) ? () => null : of));
  return (send: Send, rows: Iterable<T>): void => {
    const all = [...rows];
    const [first] = all;
    if (first === undefined) return;
    const values = common.map(([, of]) => of(first));
    const isShared = all.every((row) => common.every(([, of], index) => of(row) === values[index]));
    const sent = isShared ? ownValuesOf : valuesOf;
    const literals = all.map((row) => rowLiteral(sent.map((of) => of(row))));
    if (isShared) send(sharing, [arrayLiteral(literals), ...values], `${name}-sharing`);
    else send(general, [arrayLiteral(literals)], name);
  };
}
