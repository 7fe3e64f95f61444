/** The embedded store's side of a move: a database that nobody else has open. */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { integer, text } from '../../storage/columns.ts';
import type { MovedTable, Schema } from './tables.ts';

export type SqliteRow = Readonly<Record<string, SQLOutputValue>>;

export class SqliteSide implements Disposable {
  readonly database: DatabaseSync;

  constructor(file: string) {
    this.database = new DatabaseSync(file, { readBigInts: true });
  }

  schema(): Schema {
    const tables = this.database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
      .all()
      .map((row) => text(row, 'name'));
    return new Map(tables.map((table) => [table, [...this.#types(table).keys()]]));
  }

  rows({ fromSqlite }: MovedTable): Iterable<SqliteRow> {
    return this.database.prepare(fromSqlite).iterate();
  }

  /** Takes the values of PostgreSQL's driver. */
  adder(table: MovedTable): (row: Readonly<Record<string, unknown>>) => void {
    const adders = table.parts.map(({ table: name, columns }) => {
      const types = this.#types(name);
      const statement = this.database.prepare(
        `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      );
      return (row: Readonly<Record<string, unknown>>) => {
        statement.run(...columns.map((column) => inputValue(row[column], types.get(column) ?? '')));
      };
    });
    return (row) => {
      for (const add of adders) add(row);
    };
  }

  count(sql: string): number {
    const row = this.database.prepare(sql).get();
    return row === undefined ? 0 : integer(row, 'n');
  }

  [Symbol.dispose](): void {
    this.database.close();
  }

  #types(table: string): ReadonlyMap<string, string> {
    const rows = this.database.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all();
    return new Map(rows.map((row) => [text(row, 'name'), text(row, 'type')]));
  }
}

function inputValue(value: unknown, type: string): SQLInputValue {
  if (value === null || value === undefined) return null;
  if (type === 'INTEGER') return typeof value === 'boolean' ? (value ? 1n : 0n) : BigInt(String(value));
  if (type === 'BLOB') return value as Uint8Array;
  // A list of texts is JSON here.
  if (Array.isArray(value)) return JSON.stringify(value);
  return String(value);
}
