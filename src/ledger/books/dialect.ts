/** What differs between the SQL of the two stores; everything else is one text for both. */
import { TOTAL_COLUMNS } from '../rules/row-mapping.ts';
import type { Value } from './work.ts';

export interface Dialect {
  /** What a name after `@` stands for; those of `keys…` and `numbered_accounts` are only read. */
  table(name: string): string;
  /** Where keys are written: the table, and the column of their ids. */
  readonly keys: readonly [table: string, id: string];
  /** The time of what a payer's row shows, which never runs backwards; `$1` is now. */
  timeOf(payer: string): string;
  /** What of a payer's promotional credit is due and has not expired yet. */
  pendingOf(payer: string, id: string, ofKey: boolean): string;
  /** How much of the promotion is due; `$1` is the time of its payer. */
  dueOf(promotion: string): string;
  /** A condition: the text has this part, in any case of letters. */
  hasPart(text: string, part: string): string;
  /** A condition: the text is one of those in a JSON array. */
  isOneOf(text: string, list: string): string;
  /** Rows with a `value` each, for a `FROM`: the values of a JSON array, or of a path. */
  valuesOf(list: string): string;
  pathOf(path: string): string;
  /** A condition: the path of the entry `e` goes through the account. */
  isOnPath(account: string): string;
  /** The sum of amounts that add and take away, which itself is in range. */
  signedSum(amount: string): string;
  /** After a `LIMIT`: only rows that nobody has locked, which are locked. Whoever waits for nobody is never in a circle. */
  unlocked(...aliases: readonly string[]): string;
  /** The entries `e` with their usage records `u`, from whichever it finds the others by a key. */
  readonly recorded: string;
  /** The charge `e` with the id `$1`, by a look-up for each key. */
  readonly chargeById: string;
}

/** What a read works with: the reports of the embedded store are made in a thread of their own. */
export interface Reading {
  readonly dialect: Dialect;
  readonly nowMs: number;
}

/** Keys are two tables there: what the operator has set, and the sums. */
const SQLITE_TABLES: Readonly<Record<string, string>> = {
  keys: '(SELECT rowid AS created_number, id AS key_id, * FROM keys)',
  keys_with_totals: `(SELECT k.rowid AS created_number, k.id AS key_id, k.*, ${TOTAL_COLUMNS.map((name) => `a.${name}`).join(', ')}
    FROM keys k JOIN accounts a ON a.key_id = k.id)`,
  numbered_accounts: '(SELECT rowid AS created_number, * FROM tree_accounts)',
};

const POSTGRES_TABLES: Readonly<Record<string, string>> = {
  keys: 'accounts',
  keys_with_totals: 'accounts',
  numbered_accounts: 'tree_accounts',
  usage: 'usage_records',
};

/** What is due must have expired before anything is read, and the sums in memory must have been written. */
export const SQLITE: Dialect = {
  table: (name) => SQLITE_TABLES[name] ?? name,
  keys: ['keys', 'id'],
  timeOf: () => 'CAST($1 AS INTEGER)',
  pendingOf: () => '0',
  dueOf: () => '0',
  hasPart: (text, part) => `has_part(${text}, ${part})`,
  isOneOf: (text, list) => `${text} IN (SELECT value FROM json_each(${list}))`,
  valuesOf: (list) => `json_each(${list}) p`,
  pathOf: (path) => `json_each(${path}) p`,
  isOnPath: (account) => `EXISTS (SELECT 1 FROM json_each(e.path) p WHERE p.value = ${account})`,
  // A sum on the way may be out of range, which SQLite refuses: the higher and the lower bits are added up apart.
  signedSum: (amount) => `(sum((${amount}) >> 31) << 31) + sum((${amount}) & 2147483647)`,
  unlocked: () => '',
  // The records have no index: they are read once, in the background.
  recorded: `usage u CROSS JOIN entries e ON e.key_id = u.key_id AND e.kind = 'charge' AND e.id = u.hold_id`,
  chargeById: `keys k CROSS JOIN entries e ON e.key_id = k.id AND e.kind = 'charge' AND e.id = $1 WHERE k.mode IS NOT NULL`,
};

export const POSTGRES: Dialect = {
  table: (name) => `gateway.${POSTGRES_TABLES[name] ?? name}`,
  keys: ['gateway.accounts', 'key_id'],
  timeOf: (payer) => `greatest($1::bigint, ${payer}.seen_ms)`,
  pendingOf: (payer, id, ofKey) =>
    `CASE WHEN ${payer}.promo_ms <= greatest($1::bigint, ${payer}.seen_ms) ${ofKey ? `AND ${payer}.root_id IS NULL` : ''}
      THEN gateway.pending_expiry(${id}, ${ofKey}, greatest($1::bigint, ${payer}.seen_ms)) ELSE 0 END`,
  dueOf: (promotion) => `coalesce((
    SELECT d.amount FROM gateway.due_expiries(${promotion}.node_id, EXISTS (
      SELECT FROM gateway.accounts a WHERE a.key_id = ${promotion}.node_id), $1::bigint, '{}', '{}') d WHERE d.id = ${promotion}.id), 0)`,
  hasPart: (text, part) => `position(lower(${part}) in lower(coalesce(${text}, ''))) > 0`,
  isOneOf: (text, list) => `${text} = ANY (ARRAY(SELECT json_array_elements_text(${list}::json)))`,
  valuesOf: (list) => `json_array_elements(${list}::json) AS p(value)`,
  pathOf: (path) => `unnest(${path}) AS p(value)`,
  isOnPath: (account) => `${account} = ANY (e.path)`,
  signedSum: (amount) => `sum(${amount})`,
  unlocked: (...aliases) => `FOR UPDATE OF ${aliases.join(', ')} SKIP LOCKED`,
  recorded: `gateway.entries e JOIN gateway.usage_records u ON u.key_id = e.key_id AND u.at_ms = e.at_ms AND u.hold_id = e.id`,
  chargeById: `gateway.accounts a CROSS JOIN LATERAL (
    SELECT * FROM gateway.entries l WHERE l.key_id = a.key_id AND l.kind = 'charge' AND l.id = $1 LIMIT 1) e`,
};

export function inDialect(text: string, { table }: Dialect): string {
  return text.replaceAll(/@(\w+)/g, (_, name: string) => table(name));
}

/** The conditions of a list, with their values. */
export class Conditions {
  readonly #dialect: Dialect;
  readonly #conditions: string[] = [];
  readonly values: Value[];

  constructor(dialect: Dialect, ...values: Value[]) {
    this.#dialect = dialect;
    this.values = values;
  }

  /** Where a value is given: `condition` gets its place in the text. */
  add<T extends Value>(value: T | undefined, condition: (place: string) => string): void {
    if (value !== undefined) this.#conditions.push(condition(this.#place(value)));
  }

  always(condition: string): void {
    this.#conditions.push(condition);
  }

  /** One of the texts has this part. */
  search(part: string | undefined, ...texts: readonly string[]): void {
    this.add(part, (place) => `(${texts.map((text) => this.#dialect.hasPart(text, place)).join(' OR ')})`);
  }

  #place(value: Value): string {
    return `$${this.values.push(value)}`;
  }

  get where(): string {
    return this.#conditions.length === 0 ? '' : `WHERE ${this.#conditions.join(' AND ')}`;
  }

  limit(limit: number | undefined): string {
    return limit === undefined ? '' : `LIMIT ${this.#place(limit)}`;
  }
}

/** The ids of an account and of all below it. */
export function within(account: string): string {
  return `(WITH RECURSIVE within (id) AS (
      SELECT s.id FROM @tree_accounts s WHERE s.id = ${account}
      UNION SELECT t.id FROM @tree_accounts t JOIN within ON t.parent_id = within.id
    ) SELECT id FROM within)`;
}
