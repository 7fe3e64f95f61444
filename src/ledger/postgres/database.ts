/** Brings the schema up to date, and keeps what all gateways on one database must agree on. */
import { hash, randomBytes } from 'node:crypto';
import { integer, text } from '../../storage/columns.ts';
import { StoreError } from '../../storage/errors.ts';
import { Connection, type Query } from '../../storage/postgres/connection.ts';
import { openingError } from '../../storage/postgres/error-mapping.ts';
import { hasTables, migrateSchema, type OnWait } from '../../storage/postgres/migration.ts';
import {
  NO_SCHEMA,
  pendingMigrations,
  readFunctions,
  readMigrations,
  recordMigration,
  type StoredSchema,
  storedSchema,
} from '../migrations.ts';
import { performIn } from './books.ts';

const VERSION_MIN = 140_000;
const SECRET_BYTES = 32;
const CHECK_TIMEOUT_MS = 5_000;

/** Returns the version of the server, as `server_version_num`. */
export async function migrate(connection: Connection, onWait?: OnWait): Promise<number> {
  const [server] = await connection.query(`SELECT current_setting('server_version_num') AS number,
    current_setting('server_version') AS version, current_setting('transaction_read_only') AS read_only`);
  const version = server === undefined ? VERSION_MIN : integer(server, 'number');
  if (server !== undefined && version < VERSION_MIN) {
    throw new StoreError(`The server is PostgreSQL ${text(server, 'version')}: 14 or newer is needed.`);
  }
  const migrations = readMigrations('postgres');
  await migrateSchema(connection, {
    lock: 'ledgerMigration',
    onWait,
    pending: async (query) => pendingMigrations(migrations, await readStoredSchema(query)),
    sqlOf: ({ sql }) => sql,
    apply: async (query, pending) => {
      await query('CREATE SCHEMA IF NOT EXISTS gateway');
      await query(`CREATE TABLE IF NOT EXISTS gateway.migrations (
        version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
      for (const migration of pending) {
        await query(migration.sql);
        await performIn(query, recordMigration('postgres', migration));
      }
      await query(readFunctions());
    },
  });
  return version;
}

/** The schema of a database. Changes nothing. */
export async function storedSchemaOf(url: string): Promise<StoredSchema> {
  const connection = new Connection({ url, statementTimeoutMs: CHECK_TIMEOUT_MS, lockTimeoutMs: CHECK_TIMEOUT_MS });
  try {
    await connection.open();
    return await readStoredSchema((sql, values) => connection.query(sql, values));
  } catch (error) {
    throw openingError(url, error);
  } finally {
    await connection.close();
  }
}

async function readStoredSchema(query: Query): Promise<StoredSchema> {
  return (await hasTables(query, 'migrations')) ? performIn(query, storedSchema()) : NO_SCHEMA;
}

/**
 * The secret that keys the digests of API keys, the same for all gateways on this database. `given` (from the environment)
 * is not stored, only a digest of it, so that a gateway with another one is refused; without it, the first one that starts
 * makes a secret and stores it.
 */
export async function sharedSecret(connection: Connection, given: string | null): Promise<string> {
  const own = given ?? randomBytes(SECRET_BYTES).toString('hex');
  const fingerprint = hash('sha256', `installation:${own}`, 'hex');
  return connection.transaction('', async (query) => {
    // Of several gateways that start at once, the first one to write decides.
    const isFirst = await settle(query, 'installation_fingerprint', fingerprint);
    if (isFirst && given === null) await settle(query, 'installation_secret', own);
    const stored = await setting(query, 'installation_secret');
    if (given === null) {
      if (stored !== null) return stored;
      throw new StoreError('The keys of this database were made with GATEWAY_SECRET: set it to the same value here.');
    }
    if ((await setting(query, 'installation_fingerprint')) === fingerprint) return given;
    throw new StoreError(
      stored === null
        ? 'GATEWAY_SECRET differs from the one that the keys of this database were made with: all gateways need the same.'
        : 'The keys of this database were made with the secret that is stored in it: start without GATEWAY_SECRET.',
    );
  });
}

/** True for exactly one of all gateways that ever start on this database. */
export async function claimFirstStart(connection: Connection): Promise<boolean> {
  return connection.transaction('', (query) => settle(query, 'first_start', new Date().toISOString()));
}

/** Whether this call has stored it; a value that is there stays. */
async function settle(query: Query, name: string, value: string): Promise<boolean> {
  const rows = await query(
    'INSERT INTO gateway.settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name',
    [name, value],
  );
  return rows.length === 1;
}

async function setting(query: Query, name: string): Promise<string | null> {
  const [row] = await query('SELECT value FROM gateway.settings WHERE name = $1', [name]);
  return row === undefined ? null : text(row, 'value');
}
