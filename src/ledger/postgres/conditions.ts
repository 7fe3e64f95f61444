/** What the lists of keys and of accounts ask for, as conditions of a query. */

/** Adds a value of the query, and gives its place in the text. */
export type AddValue = (given: unknown) => string;

export function whereOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
}

export function limitOf(limit: number | undefined, value: AddValue): string {
  return limit === undefined ? '' : `LIMIT ${value(limit)}`;
}

/** The ids of an account and of all below it. */
export function within(accountId: string): string {
  return `(WITH RECURSIVE within (id) AS (
      SELECT ${accountId}::text COLLATE "C"
      UNION SELECT t.id FROM gateway.tree_accounts t JOIN within ON t.parent_id = within.id
    ) SELECT id FROM within)`;
}

/** One of the texts has this part, in any case of letters. */
export function hasPart(part: string, ...texts: readonly string[]): string {
  return `(${texts.map((text) => `position(lower(${part}) in lower(coalesce(${text}, ''))) > 0`).join(' OR ')})`;
}
