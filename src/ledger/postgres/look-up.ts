/** Finds or removes rows that belong to keys, by the key's id and a name. */
import type { Pairs } from './needs.ts';

export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface LookUp {
  /** Names of one key. */
  readonly ofKey: Statement;
  readonly ofPairs: Statement;
}

/**
 * From this release on, an index is searched for all names of a key in one go: thirteen holds take the server 23 µs instead of 54. Earlier ones may
 * read every row of the key instead, because a plan that was made for an empty table is kept.
 */
const SEARCHES_NAMES_FROM = 170_000;

/** `selected` of the row, `l`; `also`: another condition on it. */
export function lookUp(table: string, column: string, selected: string, also = 'true'): LookUp {
  const from = `gateway.${table} l WHERE ${also}`;
  return {
    ofKey: {
      name: `${table}-of-key`,
      text: `SELECT ${selected} FROM ${from} AND l.key_id = $1 AND l.${column} = ANY ($2)`,
    },
    ofPairs: {
      name: table,
      text: `SELECT f.* FROM unnest($1::text[], $2::text[]) AS u(key_id, name)
        CROSS JOIN LATERAL (SELECT ${selected} FROM ${from}
          AND l.key_id = u.key_id COLLATE "C" AND l.${column} = u.name COLLATE "C" LIMIT 1) f`,
    },
  };
}

/** As `lookUp`: they are removed. Whoever has locked their payers knows that they do not move meanwhile. */
export function removal(table: string, column: string): LookUp {
  return {
    ofKey: {
      name: `remove-${table}-of-key`,
      text: `DELETE FROM gateway.${table} l WHERE l.key_id = $1 AND l.${column} = ANY ($2)`,
    },
    ofPairs: {
      name: `remove-${table}`,
      text: `DELETE FROM gateway.${table} WHERE ctid = ANY (ARRAY(${lookUp(table, column, 'l.ctid').ofPairs.text}))`,
    },
  };
}

/** Sends the statement for these pairs. */
export function forPairs<T>(
  run: (text: string, values: readonly unknown[], name: string) => T,
  { ofKey, ofPairs }: LookUp,
  { keyIds, names }: Pairs,
  serverVersion: number,
): T {
  const [keyId] = keyIds;
  const one = serverVersion >= SEARCHES_NAMES_FROM && keyIds.every((each) => each === keyId);
  const { text, name } = one ? ofKey : ofPairs;
  return run(text, [one ? keyId : keyIds, names], name);
}
