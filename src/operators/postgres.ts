/** The operators' store in the database that all gateways share: a token that one of them revokes ends at every one. */
import { ADVISORY_LOCKS } from '../core/advisory-locks.ts';
import { asStoreError } from '../ledger/errors.ts';
import type { OperatorStore } from './port.ts';
import { type Row, type SqlEngine, SqlOperatorStore, type Value } from './sql-store.ts';

export interface PostgresConnection {
  query(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  transaction<T>(mode: string, work: (query: PostgresConnection['query']) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Each only adds to what the ones before have made. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE gateway.operators (
     id text PRIMARY KEY,
     name text NOT NULL,
     role text NOT NULL,
     account_id text,
     created_at_ms bigint NOT NULL,
     revoked_at_ms bigint
   );
   CREATE UNIQUE INDEX operators_by_name ON gateway.operators (name) WHERE revoked_at_ms IS NULL;
   INSERT INTO gateway.operators (id, name, role, created_at_ms) VALUES ('owner', 'owner', 'owner', 0);
   CREATE TABLE gateway.operator_credentials (
     id text PRIMARY KEY,
     kind text NOT NULL,
     operator_id text NOT NULL REFERENCES gateway.operators (id),
     digest text NOT NULL UNIQUE,
     label text,
     created_at_ms bigint NOT NULL,
     expires_at_ms bigint NOT NULL,
     ended_at_ms bigint
   );
   CREATE INDEX operator_credentials_by_operator ON gateway.operator_credentials (operator_id);
   CREATE TABLE gateway.audit_trail (
     number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     at_ms bigint NOT NULL,
     actor_id text,
     actor_name text,
     actor_role text,
     actor_account text,
     via text,
     action text NOT NULL,
     target text,
     outcome text NOT NULL,
     reason text,
     state_before text,
     state_after text,
     address text,
     user_agent text,
     request_id text
   );
   CREATE INDEX audit_trail_by_target ON gateway.audit_trail (target, number);
   CREATE FUNCTION gateway.audit_trail_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'the audit trail is append-only'; END $$;
   CREATE TRIGGER audit_trail_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON gateway.audit_trail
     FOR EACH STATEMENT EXECUTE FUNCTION gateway.audit_trail_is_append_only();
   CREATE TABLE gateway.operator_replies (
     name text PRIMARY KEY,
     fingerprint text NOT NULL,
     at_ms bigint NOT NULL,
     reply text
   );
   CREATE INDEX operator_replies_by_time ON gateway.operator_replies (at_ms);`,
  `CREATE TABLE gateway.alerts (
     number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     id text NOT NULL,
     target text NOT NULL,
     type text NOT NULL,
     at_ms bigint NOT NULL,
     body text NOT NULL,
     state text NOT NULL,
     attempts bigint NOT NULL,
     due_at_ms bigint NOT NULL,
     leased_until_ms bigint NOT NULL,
     error text,
     UNIQUE (id, target)
   );
   CREATE INDEX alerts_due ON gateway.alerts (due_at_ms) WHERE state = 'pending';
   CREATE TABLE gateway.alert_bases (subject text PRIMARY KEY, purchased text NOT NULL, used text NOT NULL);
   CREATE TABLE gateway.account_webhooks (account_id text PRIMARY KEY, url text NOT NULL, sealed_secret text NOT NULL);
   CREATE TABLE gateway.alert_watch (id bigint PRIMARY KEY, owner text NOT NULL, until_ms bigint NOT NULL);`,
  `ALTER TABLE gateway.operator_credentials ADD COLUMN made_with text;
   CREATE TABLE gateway.operator_settings (
     subject text NOT NULL,
     field text NOT NULL,
     value text NOT NULL,
     PRIMARY KEY (subject, field)
   );
   CREATE TABLE gateway.ended_page_sessions (id text PRIMARY KEY, ends_at_ms bigint NOT NULL);`,
];

export async function openPostgresOperatorStore(connection: PostgresConnection): Promise<OperatorStore> {
  return new SqlOperatorStore(await openPostgresEngine(connection));
}

/** For what else is kept in the same tables. */
export async function openPostgresEngine(connection: PostgresConnection): Promise<SqlEngine> {
  await migrate(connection);
  return new PostgresEngine(connection);
}

/** A table of the schema's own: which migrations were applied. */
export const OPERATOR_SCHEMA_TABLE = 'operator_schema';

/** Creates the tables, or brings them to the newest schema. */
export async function createOperatorTables(connection: PostgresConnection): Promise<void> {
  await migrate(connection);
}

class PostgresEngine implements SqlEngine {
  readonly schema = 'gateway.';
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  async read(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    try {
      return await this.#connection.query(sql, values);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  write(sql: string, values: readonly Value[]): Promise<readonly Row[]> {
    return this.read(sql, values);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

async function migrate(connection: PostgresConnection): Promise<void> {
  if ((await versionIn((sql) => connection.query(sql))) >= MIGRATIONS.length) return;
  await connection.transaction('', async (query) => {
    await query('SET LOCAL lock_timeout = 0');
    await query('SELECT pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.operatorMigration]);
    const version = await versionIn(query);
    for (const sql of MIGRATIONS.slice(version)) await query(sql);
    await query(`CREATE TABLE IF NOT EXISTS gateway.operator_schema (version integer PRIMARY KEY)`);
    for (let number = version + 1; number <= MIGRATIONS.length; number++) {
      await query('INSERT INTO gateway.operator_schema (version) VALUES ($1)', [number]);
    }
  });
}

async function versionIn(query: (sql: string) => Promise<readonly Row[]>): Promise<number> {
  const tables = await query(`SELECT 1 AS found FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'gateway' AND c.relname = 'operator_schema'`);
  if (tables.length === 0) return 0;
  const [row] = await query('SELECT coalesce(max(version), 0)::text AS version FROM gateway.operator_schema');
  return Number(row?.version ?? 0);
}
