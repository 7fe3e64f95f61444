/** The store of every release opens in this one: migrated to what a new store is, audited and served from. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { type Dialect, newestSchema, readMigrations } from '../../../src/ledger/migrations.ts';
import { openDatabase } from '../../../src/ledger/sqlite/database.ts';
import { createOperatorTables } from '../../../src/operators/postgres.ts';
import { checkUpgrade, upgrade } from '../../../src/process/data/upgrade.ts';
import { Connection } from '../../../src/storage/postgres/connection.ts';
import { startPostgres } from '../../support/postgres.ts';
import { call, type StartedGateway, startedGateway } from '../../support/started-gateway.ts';
import { postgresSchema, sqliteSchema } from '../../support/stored-schema.ts';

const root = resolve(import.meta.dirname, '../../..');
const released = join(root, 'test/fixtures/released');
const folder = mkdtempSync(join(tmpdir(), 'gateway-released-'));
const server = await startPostgres();
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Release {
  readonly secret: string;
  readonly key: string;
  readonly budget: string;
  /** Of a key below two accounts with credit and promotional credit; absent where the release has none. */
  readonly below?: string;
  readonly keys: number;
  readonly entries: number;
  readonly schema: Readonly<Record<Dialect, number>>;
}

/** A function that `apply_batch` of 0.1 calls: a batch may be running in that one while the database is migrated. */
const FORMER = /^function CREATE OR REPLACE FUNCTION gateway\.write_batch\([^)]*marks integer\[\]\)/;

const NAMED_FIRST: ReadonlySet<string> = new Set(['0.1.0', '0.2.0']);

async function serves(gateway: StartedGateway, version: string, release: Release): Promise<void> {
  const before = await gateway.audit();
  assert.deepEqual([before.findings, before.keys, before.entries], [[], release.keys, release.entries]);
  const body = { model: 'sandbox/alpha', max_tokens: 20, messages: [{ role: 'user', content: 'Hello!' }] };
  for (const [origin, key] of [
    [gateway.origin, release.key],
    [`${gateway.origin}/tokens`, release.budget],
  ] as const) {
    const response = await call(`${origin}/v1/chat/completions`, { key, body });
    assert.notEqual(response.status, 401, await response.clone().text());
    await response.text();
  }
  const [{ id } = { id: '' }] = (await gateway.admin.listKeys()).filter(({ label }) => label === 'of the release');
  // Releases up to 0.2 gave the credit that a key was created with this id.
  const first = gateway.admin.addCredit(id, { amount: '1', entry_id: 'first' });
  if (NAMED_FIRST.has(version)) await assert.rejects(first, /"first" is the credit that the key was created with/);
  else await first;
  const charged = await call(`${gateway.origin}/v1/chat/completions`, { key: release.key, body });
  assert.equal(charged.status, 200, await charged.text());
  if (release.below !== undefined) {
    const answered = await call(`${gateway.origin}/v1/chat/completions`, { key: release.below, body });
    assert.equal(answered.status, 200, await answered.text());
  }
  const { findings, entries } = await gateway.audit();
  assert.deepEqual(findings, []);
  assert.ok(entries > release.entries);
}

/** As a start does. */
async function upgradeOperators(url: string): Promise<void> {
  const connection = new Connection({ url, statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
  await createOperatorTables(connection);
  await connection.close();
}

describe('stores of releases', () => {
  for (const version of readdirSync(released)) {
    const read = (name: string): string => readFileSync(join(released, version, name), 'utf8');
    const release = JSON.parse(read('release.json')) as Release;

    test(`${version}: SQLite is checked, opened and served from`, async () => {
      const dataDir = join(folder, version);
      mkdirSync(dataDir);
      const database = new DatabaseSync(join(dataDir, 'gateway.db'));
      database.exec(`PRAGMA foreign_keys = OFF; BEGIN; ${read('sqlite.sql')} COMMIT`);
      database.close();
      writeFileSync(join(dataDir, 'installation.secret'), release.secret);
      const { schema, compatibleFrom, pending, audit } = await checkUpgrade(readSettings({ GATEWAY_DATA: dataDir }));
      assert.equal(schema, release.schema.sqlite);
      assert.equal(pending.length, newestSchema(readMigrations('sqlite')) - schema);
      assert.equal(compatibleFrom, readMigrations('sqlite').at(-1)?.compatibleFrom);
      assert.deepEqual(audit?.findings, []);
      await upgrade(readSettings({ GATEWAY_DATA: dataDir }));
      assert.deepEqual((await checkUpgrade(readSettings({ GATEWAY_DATA: dataDir }))).pending, []);
      const [upgraded, fresh] = [new DatabaseSync(join(dataDir, 'gateway.db')), openDatabase(join(folder, 'fresh.db'))];
      assert.deepEqual(sqliteSchema(upgraded), sqliteSchema(fresh));
      for (const open of [upgraded, fresh]) open.close();
      await using gateway = await startedGateway({ dataDir });
      await serves(gateway, version, release);
    });

    test(`${version}: PostgreSQL is opened and served from`, async () => {
      const name = await server.createDatabase();
      await server.query(name, read('postgres.sql'));
      const env = { DATABASE_URL: server.url(name), GATEWAY_SECRET: release.secret };
      const { schema } = await checkUpgrade(readSettings(env));
      assert.equal(schema, release.schema.postgres);
      // Replicas of a rollout may try at once.
      await Promise.all([upgrade(readSettings(env)), upgrade(readSettings(env))]);
      assert.deepEqual((await checkUpgrade(readSettings(env))).pending, []);
      const fresh = await server.createDatabase();
      await upgrade(readSettings({ ...env, DATABASE_URL: server.url(fresh) }));
      for (const each of [name, fresh]) await upgradeOperators(server.url(each));
      const upgraded = (await postgresSchema(server, name)).filter((line) => !FORMER.test(line));
      assert.deepEqual(upgraded, await postgresSchema(server, fresh));
      await using gateway = await startedGateway({ env });
      await serves(gateway, version, release);
    });
  }
});
