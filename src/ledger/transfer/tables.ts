/**
 * Which rows move when a ledger changes its engine. The two schemas have the same tables with the same columns; what is
 * different is named here. A table or column that only one engine has is refused: a ledger moves whole or not at all.
 */
import { StoreError } from '../../storage/errors.ts';

/** Belong to the engine, to running processes, or are computed again from what moves. */
const STAYS: ReadonlySet<string> = new Set([
  'migrations',
  'settings',
  'charge_journal',
  'owners',
  'pings',
  // None is left: they are recovered before.
  'holds',
  // Of the last minute.
  'rates',
  'token_rates',
  'response_bytes',
  'run_bytes',
  'unrolled',
  'unrolled_batches',
  // Moved as usage records.
  'charge_batches',
  'usage_records',
  'usage_watermark',
  'usage_history',
  'usage_hours',
  'usage_key_hours',
  'usage_key_days',
  'usage_account_days',
  'usage_account_watermark',
  'usage_moved_keys',
]);

/** The log of requests, and what is captured of them, is not part of the ledger; PostgreSQL has a table for each of its days. */
const REQUEST_LOG = /^request_(log|captures)/;

/** Columns that only PostgreSQL has, and that start over: the order of creation, the time seen, places in rate limits. */
const OWN: ReadonlySet<string> = new Set([
  'created_number',
  'seen_ms',
  'rate_first',
  'rate_next',
  'rate_stored',
  'rate_at_ms',
]);

/** The orders that count, as SQLite and as PostgreSQL know them. */
const ORDERS: Readonly<Record<string, readonly [string, string]>> = {
  responses: [' ORDER BY number', ' ORDER BY number'],
  usage: [' ORDER BY number', ' ORDER BY at_ms, hold_id'],
  tree_accounts: [' ORDER BY rowid', ' ORDER BY created_number'],
  audit_trail: [' ORDER BY number', ' ORDER BY number'],
  alerts: [' ORDER BY number', ' ORDER BY number'],
};

export interface MovedTable {
  /** The table of PostgreSQL. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The tables of SQLite that its rows are written to, with their columns. */
  readonly parts: readonly { readonly table: string; readonly columns: readonly string[] }[];
  /** Reads its rows, by the names of the columns, in an order in which they can be added. */
  readonly fromSqlite: string;
  readonly fromPostgres: string;
}

/** Table name → column names. */
export type Schema = ReadonlyMap<string, readonly string[]>;

/** `parents` are the tables of PostgreSQL that a table refers to, `beside` those of its tables that are not the ledger's. */
export function movedTables(
  sqlite: Schema,
  postgres: Schema,
  parents: ReadonlyMap<string, readonly string[]>,
  beside: ReadonlySet<string>,
): readonly MovedTable[] {
  const special = new Set(['keys', 'accounts', 'response_items']);
  const names = [...new Set([...sqlite.keys(), ...postgres.keys()])].filter(
    (name) => !STAYS.has(name) && !special.has(name) && !REQUEST_LOG.test(name) && !beside.has(name),
  );
  const tables = [
    accounts(sqlite, postgres),
    responseItems(),
    ...names.map((name) => sameTable(name, sqlite, postgres)),
  ];
  return inOrder(tables, parents);
}

/** Every table of a file beside the ledger's. */
export function tablesBeside(
  sqlite: Schema,
  postgres: Schema,
  parents: ReadonlyMap<string, readonly string[]>,
): readonly MovedTable[] {
  return inOrder(
    [...sqlite.keys()].map((name) => sameTable(name, sqlite, postgres)),
    parents,
  );
}

function sameTable(name: string, sqlite: Schema, postgres: Schema): MovedTable {
  // Rows are numbered again, in the same order.
  const without = (schema: Schema) =>
    (schema.get(name) ?? []).filter((column) => !OWN.has(column) && (column !== 'number' || name === 'secrets'));
  const columns = sameColumns(name, without(sqlite), without(postgres));
  const list = columns.join(', ');
  const [inSqlite, inPostgres] = ORDERS[name] ?? ['', ''];
  return {
    name,
    columns,
    parts: [{ table: name, columns }],
    fromSqlite: `SELECT ${list} FROM ${name}${inSqlite}`,
    fromPostgres: `SELECT ${list} FROM gateway.${name === 'usage' ? 'usage_records' : name}${inPostgres}`,
  };
}

/** A key and its sums are two rows in SQLite and one in PostgreSQL, which also has the root of its tree. */
function accounts(sqlite: Schema, postgres: Schema): MovedTable {
  const ofKey = (sqlite.get('keys') ?? []).filter((column) => column !== 'id' && column !== 'mode');
  const ofAccount = sqlite.get('accounts') ?? [];
  const columns = sameColumns(
    'accounts',
    [...ofAccount, ...ofKey, 'root_id'],
    (postgres.get('accounts') ?? []).filter((column) => !OWN.has(column)),
  );
  const root = '(SELECT t.root_id FROM tree_accounts t WHERE t.id = k.account_id) AS root_id';
  const list = [...ofAccount.map((column) => `a.${column}`), ...ofKey.map((column) => `k.${column}`), root].join(', ');
  return {
    name: 'accounts',
    columns,
    parts: [
      { table: 'keys', columns: ['id', 'mode', ...ofKey] },
      { table: 'accounts', columns: ofAccount },
    ],
    fromSqlite: `SELECT ${list} FROM keys k JOIN accounts a ON a.key_id = k.id ORDER BY k.rowid`,
    fromPostgres: `SELECT ${columns.join(', ')}, key_id AS id FROM gateway.accounts ORDER BY created_number`,
  };
}

/** Refers to its response by number in SQLite, and by id in PostgreSQL. */
function responseItems(): MovedTable {
  const columns = ['key_id', 'item_id', 'response_id'];
  return {
    name: 'response_items',
    columns,
    parts: [{ table: 'response_items', columns: ['key_id', 'item_id', 'response_number'] }],
    fromSqlite: `SELECT i.key_id, i.item_id, r.id AS response_id FROM response_items i
      JOIN responses r ON r.number = i.response_number`,
    // Numbers in SQLite begin at 1 and follow the order in which responses are added.
    fromPostgres: `SELECT i.key_id, i.item_id, n.number AS response_number FROM gateway.response_items i
      JOIN (SELECT key_id, id, row_number() OVER (ORDER BY number) AS number FROM gateway.responses) n
        ON n.key_id = i.key_id AND n.id = i.response_id`,
  };
}

function sameColumns(table: string, sqlite: readonly string[], postgres: readonly string[]): readonly string[] {
  const only = [
    ...sqlite.filter((column) => !postgres.includes(column)),
    ...postgres.filter((column) => !sqlite.includes(column)),
  ];
  if (only.length === 0) return sqlite;
  throw new StoreError(`The table ${table} cannot be moved: only one engine has ${only.join(', ')}.`);
}

/** What a table refers to comes before it. */
function inOrder(
  tables: readonly MovedTable[],
  parents: ReadonlyMap<string, readonly string[]>,
): readonly MovedTable[] {
  const ordered = new Set<MovedTable>();
  const add = (table: MovedTable, path: readonly string[]): void => {
    for (const parent of parents.get(table.name) ?? []) {
      const found = tables.find(({ name }) => name === parent);
      if (found !== undefined && found !== table && !path.includes(parent)) add(found, [...path, table.name]);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table, []);
  return [...ordered];
}
