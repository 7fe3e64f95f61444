/**
 * Operations that both stores do alike are written once, as generators: each yields the statements that it needs, and goes on
 * with their rows. The embedded store runs them at once, within its batch; PostgreSQL waits for each answer.
 */
import type { Row } from '../../storage/columns.ts';

export type Value = string | number | bigint | Uint8Array | null;

/** Parameters are `$1`, `$2` and so on; tables have an `@` before their names (`dialect.ts`). */
export interface Statement {
  readonly text: string;
  readonly values: readonly Value[];
}

export type Work<T> = Generator<Statement, T, readonly Row[]>;

export function* query(text: string, ...values: readonly Value[]): Work<readonly Row[]> {
  return yield { text, values };
}

export function* queryOne(text: string, ...values: readonly Value[]): Work<Row | undefined> {
  const [row] = yield { text, values };
  return row;
}

export function performNow<T>(work: Work<T>, rows: (statement: Statement) => readonly Row[]): T {
  let step = work.next();
  while (step.done !== true) step = work.next(rows(step.value));
  return step.value;
}

export async function perform<T>(work: Work<T>, rows: (statement: Statement) => Promise<readonly Row[]>): Promise<T> {
  let step = work.next();
  while (step.done !== true) step = work.next(await rows(step.value));
  return step.value;
}

/** What is known without a statement. */
export function* known<T>(value: T): Work<T> {
  yield* [];
  return value;
}

export function insertion(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`;
}

/** Writes all columns of one row. */
export function* update(
  [table, idColumn]: readonly [table: string, idColumn: string],
  id: string,
  columns: readonly string[],
  values: readonly Value[],
): Work<void> {
  const changes = columns.map((name, index) => `${name} = $${index + 2}`).join(', ');
  yield* query(`UPDATE ${table} SET ${changes} WHERE ${idColumn} = $1`, id, ...values);
}
