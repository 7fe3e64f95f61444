/** PostgreSQL's side of a move: one transaction, so that others see all of it or nothing. */
import { HOUR_MS } from '../../core/time.ts';
import { integer, type Row, text, textsBy } from '../../storage/columns.ts';
import { StoreError } from '../../storage/errors.ts';
import { Connection, type Query } from '../../storage/postgres/connection.ts';
import { openingError } from '../../storage/postgres/error-mapping.ts';
import { audit } from '../books/audit.ts';
import { POSTGRES } from '../books/dialect.ts';
import type { AuditReport } from '../port.ts';
import { performIn } from '../postgres/books.ts';
import { migrate } from '../postgres/database.ts';
import type { SqliteRow } from './sqlite-side.ts';
import type { MovedTable, Schema } from './tables.ts';

const STATEMENT_TIMEOUT_MS = HOUR_MS;
const LOCK_TIMEOUT_MS = 10_000;
const BATCH_ROWS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** Refused while a process holds a lease. What `work` does is undone when it fails. `prepare` brings tables beside the ledger's to the newest schema. */
export async function inPostgres<T>(
  url: string,
  prepare: (connection: Connection) => Promise<void>,
  work: (side: PostgresSide) => Promise<T>,
): Promise<T> {
  const connection = new Connection({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS, lockTimeoutMs: LOCK_TIMEOUT_MS });
  try {
    await migrate(connection);
    await prepare(connection);
    // Where it can only be refused, requests do not wait behind its locks for whoever reads these tables.
    await requireQuiet((sql, values) => connection.query(sql, values));
    return await connection.transaction('ISOLATION LEVEL REPEATABLE READ', async (query) => {
      // A gateway that is started meanwhile waits here; one that serves locks them in this order too.
      await query('LOCK TABLE gateway.owners, gateway.accounts IN ACCESS EXCLUSIVE MODE');
      await requireQuiet(query);
      return work(new PostgresSide(query));
    });
  } catch (error) {
    throw openingError(url, error);
  } finally {
    await connection.close();
  }
}

export class PostgresSide {
  readonly #query: Query;

  constructor(query: Query) {
    this.#query = query;
  }

  async schema(): Promise<Schema> {
    const rows = await this.#query(`SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'gateway' ORDER BY table_name, ordinal_position`);
    return textsBy(rows, 'table_name', 'column_name');
  }

  async parents(): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#query(`SELECT child.relname AS child, parent.relname AS parent FROM pg_constraint c
      JOIN pg_class child ON child.oid = c.conrelid JOIN pg_class parent ON parent.oid = c.confrelid
      JOIN pg_namespace n ON n.oid = child.relnamespace WHERE c.contype = 'f' AND n.nspname = 'gateway'`);
    return textsBy(rows, 'child', 'parent');
  }

  async count(sql: string): Promise<number> {
    const [row] = await this.#query(sql);
    return row === undefined ? 0 : integer(row, 'n');
  }

  async empty(table: string): Promise<void> {
    await this.#query(`DELETE FROM gateway.${table}`);
  }

  async add(table: MovedTable, rows: Iterable<SqliteRow>): Promise<void> {
    const types = await this.#types(table.name);
    let batch: unknown[][] = [];
    let bytes = 0;
    for (const row of rows) {
      const values = table.columns.map((column) => outputValue(row[column], types.get(column) ?? ''));
      batch.push(values);
      bytes += values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
      if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
      await this.#insert(table, batch);
      batch = [];
      bytes = 0;
    }
    if (batch.length > 0) await this.#insert(table, batch);
  }

  /** A part at a time. */
  async *rows(table: MovedTable): AsyncIterable<Row> {
    await this.#query(`DECLARE moved NO SCROLL CURSOR FOR ${table.fromPostgres}`);
    for (;;) {
      const rows = await this.#query(`FETCH ${BATCH_ROWS} FROM moved`);
      yield* rows;
      if (rows.length < BATCH_ROWS) break;
    }
    await this.#query('CLOSE moved');
  }

  async setting(name: string): Promise<string | null> {
    const [row] = await this.#query('SELECT value FROM gateway.settings WHERE name = $1', [name]);
    return row === undefined ? null : text(row, 'value');
  }

  async set(name: string, value: string | null): Promise<void> {
    await this.#query('DELETE FROM gateway.settings WHERE name = $1', [name]);
    if (value !== null) await this.#query('INSERT INTO gateway.settings (name, value) VALUES ($1, $2)', [name, value]);
  }

  /** Every charge is added to the rollups again. */
  async countChargesAnew(): Promise<void> {
    await this.#query(`INSERT INTO gateway.unrolled (key_id, hold_id, at_ms)
      SELECT key_id, id, at_ms FROM gateway.entries WHERE kind = 'charge'`);
  }

  audit(): Promise<AuditReport> {
    return performIn(this.#query, audit({ dialect: POSTGRES, nowMs: 0 }));
  }

  async #types(table: string): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#query(
      `SELECT column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'gateway' AND table_name = $1`,
      [table],
    );
    return new Map(rows.map((row) => [text(row, 'column_name'), text(row, 'data_type')]));
  }

  async #insert({ name, columns }: MovedTable, batch: readonly (readonly unknown[])[]): Promise<void> {
    const places = batch.map(
      (_, row) => `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join(', ')})`,
    );
    await this.#query(`INSERT INTO gateway.${name} (${columns.join(', ')}) VALUES ${places.join(', ')}`, batch.flat());
  }
}

async function requireQuiet(query: Query): Promise<void> {
  const alive = await query('SELECT id FROM gateway.owners WHERE lease_until_ms > gateway.ledger_ms(NULL, 0) LIMIT 1');
  if (alive.length > 0) {
    throw new StoreError(
      'Gateways are running on this database: stop them, and try again when their leases are over (GATEWAY_LEASE_SECONDS).',
    );
  }
}

function outputValue(value: unknown, type: string): unknown {
  if (type === 'boolean' && typeof value === 'bigint') return value !== 0n;
  if (type === 'ARRAY' && typeof value === 'string') return JSON.parse(value) as unknown;
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return Buffer.isBuffer(value) ? value.length : 8;
}
