/**
 * `node tools/released-fixture.ts 0.1.0` writes test/fixtures/released/0.1.0/: a small ledger of each engine as this release
 * writes it, which all later releases must be able to open. Run it once, at a release; what is there never changes.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readSettings } from '../src/config/settings.ts';
import { newestSchema, readFunctions, readMigrations } from '../src/ledger/migrations.ts';
import { OPERATOR_SCHEMA_TABLE } from '../src/operators/postgres.ts';
import { POSTGRES_MIGRATIONS } from '../src/operators/schema.ts';
import { migrateToPostgres } from '../src/process/data/migrate.ts';
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts';
import { call, startedGateway } from '../test/support/started-gateway.ts';

const root = resolve(import.meta.dirname, '..');
const version = process.argv[2] ?? '';
const folder = join(root, 'test/fixtures/released', version);
if (!/^\d+\.\d+\.\d+$/.test(version) || existsSync(folder)) {
  throw new Error('give the version of a release that has no fixture yet');
}

const COUNTED_BY_TRIGGERS: ReadonlySet<string> = new Set(['response_bytes', 'run_bytes']);
const ask = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };

const gateway = await startedGateway();
const { key } = await gateway.creditKey({ label: 'of the release', rpm_limit: 60 });
const { key: budget } = await gateway.tokenKey();
const { accounts } = gateway.admin;
const company = await accounts.create({ name: 'a company' });
await accounts.addCredit(company.id, { amount: '3' });
await accounts.addCredit(company.id, { amount: '2', expires_at: '2999-01-01T00:00:00Z' });
const team = await accounts.create({ name: 'a team', parent: company.id });
const { key: below } = await gateway.admin.createKey({ mode: 'credit', account: team.id });
const paths: readonly (readonly [string, string, object, Record<string, string>])[] = [
  ['/v1/chat/completions', key, ask, { 'idempotency-key': 'once' }],
  ['/v1/responses', key, { model: 'sandbox/alpha', input: 'Hello!' }, {}],
  ['/v1/chat/completions', below, ask, {}],
];
for (const [path, secret, body, headers] of paths) {
  const response = await call(`${gateway.origin}${path}`, { key: secret, body, headers });
  if (response.status !== 200) throw new Error(await response.text());
  await response.text();
}
const audit = await gateway.audit();
await gateway.stop();
const secret = readFileSync(join(gateway.dataDir, 'installation.secret'), 'utf8').trim();

const sqlite = sqliteDump(join(gateway.dataDir, 'gateway.db'));
const server = await startPostgres();
const name = await server.createDatabase();
const env = { GATEWAY_DATA: gateway.dataDir, GATEWAY_SECRET: secret, DATABASE_URL: server.url(name) };
await migrateToPostgres(readSettings(env));
const postgres = await postgresDump(server, name);
await server.stop();
await gateway[Symbol.asyncDispose]();

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'sqlite.sql'), sqlite);
writeFileSync(join(folder, 'postgres.sql'), postgres);
const schema = { sqlite: newestSchema(readMigrations('sqlite')), postgres: newestSchema(readMigrations('postgres')) };
const facts = { secret, key, budget, below, keys: audit.keys, entries: audit.entries, schema };
writeFileSync(join(folder, 'release.json'), `${JSON.stringify(facts, null, 2)}\n`);

function sqliteDump(file: string): string {
  const database = new DatabaseSync(file, { readBigInts: true });
  const objects = database
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'trigger', rowid")
    .all() as { type: string; name: string; sql: string }[];
  const lines: string[] = [];
  for (const { type, name: table, sql } of objects) {
    if (type === 'trigger') continue;
    lines.push(`${sql};`);
    if (type !== 'table') continue;
    for (const row of database.prepare(`SELECT * FROM ${table}`).all()) {
      lines.push(`INSERT INTO ${table} VALUES (${Object.values(row).map(literal).join(', ')});`);
    }
  }
  for (const { type, sql } of objects) if (type === 'trigger') lines.push(`${sql};`);
  database.close();
  return `${lines.join('\n')}\n`;
}

function literal(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString('hex')}'`;
  return `'${String(value).replaceAll("'", "''")}'`;
}

/** The schema as the migrations make it, then the rows. */
async function postgresDump(from: TestPostgres, database: string): Promise<string> {
  const lines = [
    'CREATE SCHEMA gateway;',
    'CREATE TABLE gateway.migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());',
    ...readMigrations('postgres').map(({ sql }) => sql),
    readFunctions(),
    ...POSTGRES_MIGRATIONS,
    // The one row that a migration makes is among the dumped ones.
    'DELETE FROM gateway.operators;',
    `CREATE TABLE gateway.${OPERATOR_SCHEMA_TABLE} (version integer PRIMARY KEY);`,
  ];
  const tables = await from.query(
    database,
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'gateway'::regnamespace AND relkind = 'r' ORDER BY relname <> 'accounts', oid",
  );
  for (const { name: table } of tables) {
    const columns = (
      await from.query(
        database,
        `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'gateway' AND table_name = '${String(table)}' ORDER BY ordinal_position`,
      )
    ).map((row) => String(row.name));
    if (COUNTED_BY_TRIGGERS.has(String(table))) continue;
    const values = columns.map((column) => `quote_nullable(${column}::text)`).join(` || ', ' || `);
    const rows = await from.query(database, `SELECT ${values} AS line FROM gateway.${String(table)}`);
    for (const { line } of rows) {
      lines.push(
        `INSERT INTO gateway.${String(table)} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${String(line)});`,
      );
    }
  }
  const numbered = await from.query(
    database,
    `SELECT format('SELECT setval(%L, (SELECT coalesce(max(%I), 0) + 1 FROM gateway.%I), false);', sequence, column_name, table_name) AS line
    FROM (SELECT table_name, column_name, pg_get_serial_sequence('gateway.' || table_name, column_name) AS sequence
      FROM information_schema.columns WHERE table_schema = 'gateway') c WHERE sequence IS NOT NULL`,
  );
  for (const { line } of numbered) lines.push(String(line));
  return `${lines.join('\n')}\n`;
}
