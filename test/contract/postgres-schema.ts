/** The tables of the ledger: how they are made, what they refuse, and what can be read from them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'pg';
import { PERIODS, periodStartMs } from '../../src/core/period.ts';
import { GroupCommit } from '../../src/ledger/group-commit/group-commit.ts';
import { createLedger, createLedgerOn } from '../../src/ledger/ledger.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { readMigrations } from '../../src/ledger/migrations.ts';
import { openPostgresStore } from '../../src/ledger/postgres/store.ts';
import { StoreError, StoreVersionError } from '../../src/storage/errors.ts';
import { Connection, type Query } from '../../src/storage/postgres/connection.ts';
import { migrateSchema } from '../../src/storage/postgres/migration.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, replicas, server, template } from './postgres-books.ts';

const WAITING = `SELECT FROM pg_locks WHERE NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
const OF_THE_NEXT_RELEASE = 'ADD COLUMN of_the_next_release text';

/** As a migration of the next release does. */
async function addColumn(
  database: string,
  waits: { readonly waitMs: number; readonly tries: number },
  apply: (query: Query) => Promise<unknown>,
): Promise<void> {
  const column = `SELECT FROM information_schema.columns WHERE column_name = 'of_the_next_release'`;
  const connection = new Connection({ url: server.url(database), statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 });
  try {
    await migrateSchema(
      connection,
      {
        lock: 'ledgerMigration',
        pending: async (query) => ((await query(column)).length > 0 ? [] : [column]),
        apply: async (query) => {
          await apply(query);
        },
      },
      { pauseMs: 10, ...waits },
    );
  } finally {
    await connection.close();
  }
}

export function postgresSchema(): void {
  describe('the schema', () => {
    test('several gateways that start at once on an empty database create it once, and agree on everything', async () => {
      const url = server.url(await server.createDatabase());
      const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore({ url })));
      const secrets = await Promise.all(stores.map((store) => store.sharedSecret(null)));
      assert.equal(new Set(secrets).size, 1);
      assert.match(secrets[0] ?? '', /^[0-9a-f]{64}$/);
      const first = await Promise.all(stores.map((store) => store.claimFirstStart()));
      assert.deepEqual(first.sort(), [false, false, false, false, true]);
      for (const store of stores) await store.close();
      const again = await openPostgresStore({ url });
      assert.equal(await again.sharedSecret(null), secrets[0]);
      assert.equal(await again.claimFirstStart(), false);
      await again.close();
    });

    test('a gateway that starts while another changes the schema waits as long as that takes', async (t) => {
      const url = server.url(await server.createDatabase());
      const other = new Client(url);
      await other.connect();
      try {
        await other.query('BEGIN');
        await other.query('SELECT pg_advisory_xact_lock($1)', [0x6a7e_3a11]);
        t.mock.timers.enable({ apis: ['setTimeout'] });
        const opening = openPostgresStore({ url });
        const waits = `SELECT count(*)::integer AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
        while ((await other.query<{ n: number }>(waits)).rows[0]?.n !== 1);
        t.mock.timers.tick(3_600_000);
        await other.query('COMMIT');
        t.mock.timers.reset();
        await (await opening).close();
      } finally {
        await other.end();
      }
    });

    test('a change of the schema that waits for a transaction of somebody else holds up no request for long, and then names it', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const { id } = await ledger.createKey(newKey({ credit: 5n }));
      const migrate = (tries: number) =>
        addColumn(database, { waitMs: 50, tries }, (query) =>
          query(`ALTER TABLE gateway.accounts ${OF_THE_NEXT_RELEASE}`),
        );
      const dump = new Client({ connectionString: server.url(database), application_name: 'pg_dump' });
      await dump.connect();
      try {
        await dump.query('BEGIN');
        await dump.query('SELECT count(*) FROM gateway.accounts');
        const refused =
          /not changed: process \d+ of the server \(pg_dump, since 2.*\) has locked tables of it\. Start again/;
        await assert.rejects(migrate(2), (error) => error instanceof StoreError && refused.test(error.message));
        const migrated = migrate(Number.POSITIVE_INFINITY);
        // Behind a wait without end this one would wait until the dump has ended.
        for (const hold of ['one', 'two', 'three']) {
          assert.equal((await ledger.admit(admitRequest(id, hold, 1n))).kind, 'admitted');
        }
        await dump.query('COMMIT');
        await migrated;
      } finally {
        await dump.end();
      }
      assert.equal((await ledger.admit(admitRequest(id, 'four', 1n))).kind, 'admitted');
      await closeAll(ledgers);
    });

    test('a change of the schema that waits in a circle with somebody else is made when that one has ended', async () => {
      const { database, ledgers } = await replicas(1);
      const other = await server.connect(database);
      await other.query('BEGIN');
      await other.query('SELECT count(*) FROM gateway.tree_accounts');
      let ended: Promise<unknown> | null = null;
      await addColumn(database, { waitMs: 60_000, tries: Number.POSITIVE_INFINITY }, async (query) => {
        // This side notices first.
        await query(`SET LOCAL deadlock_timeout = '1ms'`);
        await query(`ALTER TABLE gateway.accounts ${OF_THE_NEXT_RELEASE}`);
        if (ended === null) {
          ended = other.query('SELECT count(*) FROM gateway.accounts').then(() => other.query('COMMIT'));
          while ((await server.query(database, WAITING)).length === 0);
        }
        await query(`ALTER TABLE gateway.tree_accounts ${OF_THE_NEXT_RELEASE}`);
      });
      await ended;
      await other.end();
      await closeAll(ledgers);
    });

    test('opening again applies no migration twice; one that only newer releases can use is refused', async () => {
      const database = await server.createDatabase(template);
      await (await openPostgresStore({ url: server.url(database) })).close();
      const { n } = only(await server.query(database, 'SELECT count(*)::integer AS n FROM gateway.migrations'));
      assert.equal(n, readMigrations('postgres').length);
      const later = (version: number, compatibleFrom: number | null) =>
        server.query(
          database,
          `INSERT INTO gateway.migrations VALUES (${version}, 'from-the-future', now(), ${compatibleFrom}, '9.9.0')`,
        );
      // What only adds is in nobody's way.
      await later(9998, readMigrations('postgres').length);
      await (await openPostgresStore({ url: server.url(database) })).close();
      await later(9999, 9997);
      await assert.rejects(
        openPostgresStore({ url: server.url(database) }),
        (error) =>
          error instanceof StoreVersionError &&
          error.message ===
            `The database is at schema version 9999 of release 9.9.0, usable from version 9997 on; this release knows up to ${readMigrations('postgres').length}: start 9.9.0 or a newer one.`,
      );
    });

    test('[F30] a column that the next release adds is in nobody’s way who serves meanwhile', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const root = newAccount();
      const account = newAccount({ parentId: root.id });
      for (const each of [root, account]) await ledger.createAccount(each);
      await ledger.addAccountCredit(root.id, 'credit', 100n, null);
      const limits = { rpmLimit: 100, tpmLimit: 100_000 };
      const given = [newKey({ credit: 100n, ...limits }), newKey({ accountId: account.id, ...limits })];
      for (const key of given) await ledger.createKey(key);
      const serve = async (id: string, digest: string, time: string): Promise<void> => {
        assert.equal((await ledger.findKey(digest))?.id, id);
        const claim = { name: time, fingerprint: 'fingerprint' };
        const settled = settleRequest(id, `settled ${time} ${id}`, 2n, { usage: usageRecord() });
        const holds = [admitRequest(id, settled.holdId, 2n, { claim }), admitRequest(id, `void ${time} ${id}`, 2n)];
        for (const hold of holds) assert.equal((await ledger.admit(hold)).kind, 'admitted');
        assert.equal((await ledger.settle(settled)).kind, 'settled');
        assert.equal((await ledger.settle(settled)).kind, 'already_settled');
        await ledger.void(`void ${time} ${id}`, id);
      };
      const serveAll = (time: string) => Promise.all(given.map(({ id, secret }) => serve(id, secret.digest, time)));
      await serveAll('before');
      await ledger.rollUp();
      const tables = await server.query(database, `SELECT tablename FROM pg_tables WHERE schemaname = 'gateway'`);
      for (const { tablename } of tables) {
        await server.query(database, `ALTER TABLE gateway.${String(tablename)} ADD COLUMN of_the_next_release text`);
      }
      await serveAll('after');
      await ledger.rollUp();
      await closeAll(ledgers);
    });

    test('entries never change and never leave, and no balance goes below zero', async () => {
      const { database, ledgers } = await replicas(1);
      const { id } = await only(ledgers).createKey(newKey({ credit: 5n }));
      await only(ledgers).admit(admitRequest(id, 'h1', 2n));
      await only(ledgers).settle(settleRequest(id, 'h1', 2n));
      const refuses = (sql: string, why: RegExp) => assert.rejects(server.query(database, sql), why);
      for (const table of ['entries', 'account_entries']) {
        await refuses(`UPDATE gateway.${table} SET amount = 6`, /never changes/);
        await refuses(`DELETE FROM gateway.${table}`, /never removed/);
        await refuses(`TRUNCATE gateway.${table}`, /never removed/);
      }
      await refuses('UPDATE gateway.accounts SET reserved = 6', /check constraint/);
      await refuses('UPDATE gateway.accounts SET used = -1', /check constraint/);
      await only(ledgers).admit(admitRequest(id, 'h2', 2n));
      for (const column of ['amount', 'tokens', 'mark_charge']) {
        await refuses(`UPDATE gateway.holds SET ${column} = -1`, /check constraint/);
      }
      await closeAll(ledgers);
    });

    test('no row of a key or an account has what would make no sense', async () => {
      const database = await server.createDatabase(template);
      const ledger = createLedger(await openPostgresStore({ url: server.url(database) }));
      await ledger.createKey(newKey({ id: 'lone', credit: 10n }));
      const root = newAccount({ parentId: null });
      await ledger.createAccount(root);
      await ledger.createAccount(newAccount({ parentId: root.id }));
      await ledger.close();
      const below = (column: string, least: number): string => `${column} = ${least - 1}`;
      const amounts = ['purchased', 'used', 'reserved', 'live_holds'];
      const limits = ['rpm_limit', 'tpm_limit', 'parallel_limit', 'output_limit', 'runs_limit'].map((c) => below(c, 1));
      const ofKeys = [
        'period_used',
        'day_spend',
        'last_cost',
        'input_tokens',
        'output_tokens',
        'requests',
        'budget',
        'cap',
      ];
      const ofAccounts = ['reserved_tokens', 'credit_used', 'tokens_used', 'credit_cap', 'token_cap'];
      const wrong: readonly (readonly [where: string, changes: readonly string[]])[] = [
        ['accounts', [...amounts, ...ofKeys].map((column) => below(column, 0))],
        ['accounts', [...limits, below('capture_days', 1), 'used = 11', 'used = 4, reserved = 7', 'budget = 5']],
        ['accounts', [`mode = 'free'`, `mode = 'token_budget'`, `period = 'year'`, `status = 'gone'`]],
        [
          'tree_accounts',
          [...[...amounts, ...ofAccounts].map((column) => below(column, 0)), ...limits, `status = 'gone'`],
        ],
        ['tree_accounts', ['credit_cap = 5', `credit_period = 'day'`, 'token_cap = 5', `token_period = 'day'`]],
        ['tree_accounts', [`credit_cap = 5, credit_period = 'year'`, `token_cap = 5, token_period = 'year'`]],
        ['tree_accounts WHERE parent_id IS NULL', [`root_id = 'other'`, 'used = 1']],
        ['tree_accounts WHERE parent_id IS NOT NULL', ['root_id = id', 'parent_id = NULL', 'purchased = 1']],
      ];
      for (const [where, changes] of wrong) {
        const [table = '', ...rest] = where.split(' ');
        for (const change of changes) {
          const sql = `UPDATE gateway.${table} SET ${change} ${rest.join(' ')}`;
          await assert.rejects(server.query(database, sql), { code: '23514' }, sql);
        }
      }
      const fine = `UPDATE gateway.tree_accounts SET credit_cap = 0, credit_period = 'none', rpm_limit = 1, status = 'closed'`;
      await server.query(database, fine);
      await server.query(database, `UPDATE gateway.accounts SET used = 10, cap = 0, rpm_limit = NULL, period = 'week'`);
    });

    test('every table that requests write begins its primary key with the key, or with the root of its tree', async () => {
      const rows = await server.query(
        template,
        `SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
          WHERE i.indisprimary AND c.relnamespace = 'gateway'::regnamespace AND a.attname NOT IN ('key_id', 'root_id', 'node_id') ORDER BY 1`,
      );
      // What is left is written by operators, once per process, or in the background (the rollups, which begin with the time).
      assert.deepEqual(
        rows.map((row) => row.relname),
        [
          ...['documents', 'migrations', 'owners', 'pings', 'secrets', 'settings'],
          ...['usage_hours', 'usage_key_days', 'usage_key_hours'],
        ],
      );
    });

    test('usage records from before the rollups are added to them, however their addition is interrupted', async () => {
      const database = await server.createDatabase();
      const migrations = readMigrations('postgres').filter(({ version }) => version <= 6);
      await server.query(database, 'CREATE SCHEMA gateway');
      for (const { sql } of migrations) await server.query(database, sql);
      await server.query(
        database,
        `CREATE TABLE gateway.migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz DEFAULT now());
        INSERT INTO gateway.migrations (version, name) SELECT v, 'x' FROM generate_series(1, ${migrations.length}) v;
        INSERT INTO gateway.accounts (key_id, version, mode, status, provider_scope, period, created_at_ms, prefix, purchased, used)
          VALUES ('c', 1, 'credit', 'active', 'all', 'month', 0, '', 1000, 40);
        INSERT INTO gateway.entries (key_id, kind, id, amount, held, at_ms)
          SELECT 'c', 'charge', 'h' || n, 4, 4, 1000 + n FROM generate_series(1, 10) n;
        INSERT INTO gateway.usage (key_id, at_ms, hold_id, request_id, model, provider, format, streamed, outcome, source, input,
            cache_read, cache_write, cache_write_1h, output, reasoning, cost_nanos, provider_cost_nanos, attempts, duration_ms)
          SELECT 'c', 1000 + n, 'h' || n, '', 'm' || n % 2, 'p', 'chat', false, 'complete', 'reported', 1, 0, 0, 0, 2, 0, 5, 3, 1, 7
          FROM generate_series(1, 10) n`,
      );
      const clock = new ManualClock();
      const store = await openPostgresStore({ url: server.url(database), clock });
      const operations = new GroupCommit(store);
      const ledger = createLedgerOn(operations);
      const query = { sinceMs: 0, untilMs: 3_600_000, by: ['model'], filter: {}, rowsMax: 10 } as const;
      const before = await ledger.usageReport(query);
      assert.ok(before.kind === 'usage' && before.catchingUp);
      assert.deepEqual(await operations.run<'rollUp'>({ op: 'rollUp', limit: 4 }), { charges: 4, more: true });
      // Nothing that is not in the rollups yet is removed.
      assert.equal((await ledger.prune(3_600_000)).removed, 0);
      while ((await operations.run<'rollUp'>({ op: 'rollUp', limit: 4 })).more);
      const after = await ledger.usageReport(query);
      assert.ok(after.kind === 'usage' && !after.catchingUp);
      assert.deepEqual(
        after.rows.map(({ group, sums }) => [group[0], sums.requests, sums.charged_nanos, sums.provider_cost_nanos]),
        [
          ['m0', 5n, 20n, 15n],
          ['m1', 5n, 20n, 15n],
        ],
      );
      assert.equal((await ledger.prune(3_600_000)).removed, 10);
      await ledger.close();
    });

    test('charges that are written together leave a usage record each, with all that it says', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const key = await ledger.createKey(newKey({ credit: 1_000n }));
      const other = await ledger.createKey(newKey({ mode: 'token_budget', budget: 1_000n }));
      const tokens = { input: 11, cacheRead: 3, cacheWrite: 0, cacheWrite1h: 5, output: 7, reasoning: 0 };
      const records = [
        usageRecord({ requestId: 'h0', costNanos: 4n, providerCostNanos: 4n }),
        usageRecord({ requestId: 'another "name" {}', costNanos: 9n, providerCostNanos: 2n, model: 'm, "quoted"' }),
        usageRecord({ requestId: 'h2', costNanos: 0n, providerCostNanos: 0n, tokens, firstByteMs: null }),
      ];
      const holds = records.flatMap((usage, index) => [key, other].map(({ id }) => ({ id, usage, hold: `h${index}` })));
      await Promise.all(holds.map(({ id, hold }) => ledger.admit(admitRequest(id, hold, 5n))));
      await Promise.all([
        ...holds.map(({ id, usage, hold }) => ledger.settle(settleRequest(id, hold, 4n, { usage }))),
        ledger
          .admit(admitRequest(key.id, 'without', 5n))
          .then(() => ledger.settle(settleRequest(key.id, 'without', 1n))),
      ]);
      const rows = await server.query(database, 'SELECT * FROM gateway.usage_records');
      const found = rows.map((row) => [
        ...[
          row.key_id,
          row.hold_id,
          row.request_id,
          row.model,
          row.provider,
          row.format,
          row.streamed,
          row.outcome,
          row.source,
        ],
        ...[row.cost_nanos, row.provider_cost_nanos, row.attempts, row.duration_ms, row.first_byte_ms],
        ...[row.input, row.cache_read, row.cache_write, row.cache_write_1h, row.output, row.reasoning].map(Number),
      ]);
      const expected = holds.map(({ id, usage, hold }) => [
        ...[
          id,
          hold,
          usage.requestId,
          usage.model,
          usage.provider,
          usage.format,
          usage.streamed,
          usage.outcome,
          usage.source,
        ],
        ...[usage.costNanos, usage.providerCostNanos, usage.attempts, usage.durationMs].map(String),
        usage.firstByteMs === null ? null : String(usage.firstByteMs),
        ...[usage.tokens.input, usage.tokens.cacheRead, usage.tokens.cacheWrite, usage.tokens.cacheWrite1h],
        ...[usage.tokens.output, usage.tokens.reasoning],
      ]);
      const sorted = (list: readonly (readonly unknown[])[]): readonly string[] =>
        list.map((row) => row.join('|')).sort();
      assert.deepEqual(sorted(found), sorted(expected));
      await closeAll(ledgers);
    });

    test('while another gateway adds to the rollups, this one leaves it alone', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const key = await ledger.createKey(newKey({ credit: 50n }));
      await ledger.admit(admitRequest(key.id, 'h1', 5n));
      await ledger.settle(settleRequest(key.id, 'h1', 5n, { usage: usageRecord() }));
      const other = new Client({ connectionString: server.url(database) });
      await other.connect();
      await other.query('BEGIN; SELECT pg_advisory_xact_lock(1786657298)');
      assert.deepEqual(await ledger.rollUp(), { charges: 0, more: false });
      await other.query('ROLLBACK');
      await other.end();
      assert.deepEqual(await ledger.rollUp(), { charges: 1, more: false });
      await closeAll(ledgers);
    });

    test('the audit names what does not add up', async () => {
      const { database, ledgers } = await replicas(1);
      const ledger = only(ledgers);
      const key = await ledger.createKey(newKey({ credit: 50n }));
      await ledger.admit(admitRequest(key.id, 'h1', 5n, { claim: { name: 'c', fingerprint: 'f' } }));
      assert.equal((await ledger.audit()).ok, true);
      await server.query(
        database,
        `UPDATE gateway.accounts SET used = 1, reserved = 7; DELETE FROM gateway.claims;
        INSERT INTO gateway.entries (key_id, kind, id, amount, held, at_ms) VALUES ('${key.id}', 'charge', 'h1', 2, 5, 0)`,
      );
      assert.deepEqual((await ledger.audit()).findings, [
        `key ${key.id}: used is kept as 1, its rows make 2`,
        `key ${key.id}: reserved is kept as 7, its rows make 5`,
        `key ${key.id}: hold is live and settled: h1`,
        `key ${key.id}: hold without its claim: h1`,
      ]);
      await ledger.close();
    });

    test('[R17] periods begin in the database where they begin in the gateway', async () => {
      const client = new Client({ connectionString: server.url(template) });
      await client.connect();
      const lastMs = Date.parse('2400-01-01T00:00:00Z');
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...PERIODS),
          fc.array(fc.integer({ min: 0, max: lastMs }), { minLength: 50, maxLength: 50 }),
          async (period, timesMs) => {
            const { rows } = await client.query<{ start: string }>(
              'SELECT gateway.period_start_ms($1, t) AS start FROM unnest($2::bigint[]) WITH ORDINALITY AS u(t, n) ORDER BY n',
              [period, timesMs],
            );
            assert.deepEqual(
              rows.map(({ start }) => Number(start)),
              timesMs.map((atMs) => periodStartMs(period, atMs)),
            );
          },
        ),
        { numRuns: 60, seed: 17 },
      );
      await client.end();
    });

    test('[F2] a recovered charge leaves a usage record that says what is known of the call', async () => {
      const clock = new ManualClock();
      const { database, ledgers } = await replicas(1, clock);
      const ledger = only(ledgers);
      const budget = await ledger.createKey(newKey({ mode: 'token_budget', budget: 1_000n }));
      const credit = await ledger.createKey(newKey({ credit: 1_000n }));
      const { outcome, source, tokens, durationMs, ...call } = usageRecord({ costNanos: 2n ** 60n });
      await ledger.admit(admitRequest(budget.id, 'h1', 50n));
      await ledger.admit(admitRequest(credit.id, 'h2', 50n));
      clock.advance(3_000);
      ledger.mark({ holdId: 'h1', keyId: budget.id, charge: 36n, tokens, call });
      ledger.mark({ holdId: 'h2', keyId: credit.id, charge: 36n, tokens });
      await ledger.ping();
      clock.advance(3_600_000);
      await recoverAll(ledger);
      assert.equal((await ledger.summary(budget.id))?.periodUsed, 36n);
      const rows = await server.query(database, 'SELECT * FROM gateway.usage_records ORDER BY hold_id');
      assert.deepEqual(
        rows.map((row) => [row.request_id, row.model, row.outcome, row.source, row.cost_nanos, row.duration_ms]),
        [
          [call.requestId, call.model, 'broken', 'counted', call.costNanos.toString(), '3000'],
          ['h2', '', 'broken', 'counted', '36', '3000'],
        ],
      );
      const flags = await server.query(database, `SELECT DISTINCT flag FROM gateway.entries WHERE kind = 'charge'`);
      assert.deepEqual(flags, [{ flag: 'recovered' }]);
      await closeAll(ledgers);
    });
  });
}
