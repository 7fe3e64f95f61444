/** The tables of the ledger: what they refuse, and what can be read from them. */
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
import { admitRequest, ManualClock, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, replicas, server, template } from './postgres-books.ts';

export function postgresSchema(): void {
  describe('the schema', () => {
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
