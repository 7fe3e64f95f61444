/** What the lists of keys and of accounts ask for, as conditions of a query with their values. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

export const NO_LIMIT = -1;

export type Condition = readonly [condition: string, ...values: SQLInputValue[]];

export function whereOf(wanted: readonly Condition[]): string {
  return wanted.length === 0 ? '' : `WHERE ${wanted.map(([condition]) => condition).join(' AND ')}`;
}

export function valuesOf(wanted: readonly Condition[]): readonly SQLInputValue[] {
  return wanted.flatMap(([, ...values]) => values);
}

/** The ids of an account and of all below it; its one value is the id of the account. */
export const WITHIN = `(WITH RECURSIVE within (id) AS (
    SELECT ? UNION SELECT t.id FROM tree_accounts t JOIN within ON t.parent_id = within.id
  ) SELECT id FROM within)`;

/** One of the texts has this part, in any case of letters. */
export function hasPart(search: string, ...texts: readonly string[]): Condition {
  const part = search.toLowerCase();
  return [`(${texts.map((text) => `has_part(${text}, ?)`).join(' OR ')})`, ...texts.map(() => part)];
}

/** `has_part(text, part)`, in any case of letters, of every alphabet; the part is in small ones. */
export function defineSearch(database: DatabaseSync): void {
  database.function('has_part', { deterministic: true }, (whole, part) =>
    typeof whole === 'string' && whole.toLowerCase().includes(String(part)) ? 1 : 0,
  );
}
