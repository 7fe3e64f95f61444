import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { Client } from 'pg';
import type { Clock } from '../../src/core/clock.ts';
import { PERIODS, periodStartMs } from '../../src/core/period.ts';
import { StoreError, StoreVersionError } from '../../src/ledger/errors.ts';
import { GroupCommit } from '../../src/ledger/group-commit/group-commit.ts';
import { createLedger, createLedgerOn, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { recoverAll, startMaintenance } from '../../src/ledger/maintenance.ts';
import { readMigrations } from '../../src/ledger/migrations.ts';
import type { Operation } from '../../src/ledger/operations.ts';
import { LedgerClock } from '../../src/ledger/postgres/ledger-clock.ts';
import { openPostgresStore, type PostgresStore } from '../../src/ledger/postgres/store.ts';
import { overlapping } from '../support/overlap.ts';
import { startPostgres } from '../support/postgres.ts';
import { ledgerContract } from './contract.ts';
import {
  admitRequest,
  ManualClock,
  newAccount,
  newKey,
  type OpenedLedger,
  settleRequest,
  usageRecord,
} from './fixtures.ts';

const server = await startPostgres();
after(() => server.stop());
const template = await server.createDatabase();
await (await openPostgresStore({ url: server.url(template) })).close();

async function openLedger(clock: Clock): Promise<OpenedLedger> {
  const url = server.url(await server.createDatabase(template));
  return {
    connect: async () => new GroupCommit(await openPostgresStore({ url, clock })),
    close: async () => undefined,
  };
}

/** Transactions of several gateways meet, however busy the machine is: see `overlapping`. */
const PATIENT = { timeoutMs: 120_000, lockTimeoutMs: 120_000 };

/** Fresh books, and the ledgers of several gateways on them. */
async function replicas(count: number, clock?: Clock): Promise<{ database: string; ledgers: OwnedLedger[] }> {
  const database = await server.createDatabase(template);
  const options = clock === undefined ? {} : { clock };
  const ledgers = await Promise.all(
    Array.from({ length: count }, async () =>
      createLedger(await openPostgresStore({ url: server.url(database), ...PATIENT, ...options })),
    ),
  );
  return { database, ledgers };
}

async function closeAll(ledgers: readonly OwnedLedger[]): Promise<void> {
  const [first] = ledgers;
  assert.deepEqual((await first?.audit())?.findings, []);
  for (const ledger of ledgers) await ledger.close();
}

/** A root with this much credit, three accounts below it, and eight keys at all levels. The root is the first account. */
async function tree(ledger: OwnedLedger, credit: bigint): Promise<{ keys: string[]; accounts: string[] }> {
  const root = newAccount({ name: 'root' });
  const left = newAccount({ name: 'left', parentId: root.id });
  const right = newAccount({ name: 'right', parentId: root.id });
  const low = newAccount({ name: 'low', parentId: left.id });
  const accounts = [root, left, right, low];
  for (const account of accounts) assert.equal((await ledger.createAccount(account)).kind, 'account');
  await ledger.addAccountCredit(root.id, 'first', credit, null);
  const keys: string[] = [];
  for (let i = 0; i < 8; i++) {
    keys.push((await ledger.createKey(newKey({ accountId: accounts[i % 4]?.id ?? null }))).id);
  }
  return { keys, accounts: accounts.map(({ id }) => id) };
}

function only<T>(list: readonly T[]): T {
  const [first] = list;
  assert.ok(first !== undefined && list.length === 1);
  return first;
}

ledgerContract('PostgreSQL', openLedger);

describe('several gateways on one database', () => {
  test('[F27] [R11] the requests per minute at the boundary over four gateways are never above the limit', async () => {
    const clock = new ManualClock();
    const { database, ledgers } = await replicas(4, clock);
    const key = await (ledgers[0] as OwnedLedger).createKey(newKey({ credit: 10n, rpmLimit: 7 }));
    const burst = async (): Promise<number> => {
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          ledgers[i % 4]?.admit(admitRequest(key.id, randomUUID(), 1n, { hold: null })),
        ),
      );
      return outcomes.filter((outcome) => outcome?.kind === 'admitted').length;
    };
    // The batches of all four have read the account before one of them has written anything.
    const overlap = (): Promise<number> => overlapping(server, database, ['accounts', 'rates'], 4, burst);
    assert.equal(await overlap(), 7);
    clock.advance(59_999);
    assert.equal(await burst(), 0);
    clock.advance(1);
    assert.equal(await overlap(), 7);
    assert.equal(await burst(), 0);
    await closeAll(ledgers);
  });

  test('[F12] 64 parallel requests over four gateways with balance for one: exactly one is admitted', async () => {
    const { database, ledgers } = await replicas(4);
    for (let round = 0; round < 5; round++) {
      const key = await (ledgers[0] as OwnedLedger).createKey(newKey({ credit: 10n }));
      const outcomes = await overlapping(server, database, ['accounts', 'holds'], 4, () =>
        Promise.all(
          Array.from({ length: 64 }, (_, i) => ledgers[i % 4]?.admit(admitRequest(key.id, randomUUID(), 10n))),
        ),
      );
      const kinds = outcomes.map((outcome) => outcome?.kind).sort();
      assert.deepEqual(kinds, ['admitted', ...Array<string>(63).fill('temporarily_held')]);
    }
    await closeAll(ledgers);
  });

  test('[F12] settlements, extensions and purchases over four gateways that meet: none of them is lost', async () => {
    const { database, ledgers } = await replicas(4);
    const [first] = ledgers as [OwnedLedger];
    const key = await first.createKey(newKey({ credit: 1_000n }));
    const holds = await Promise.all(
      ledgers.map(async (ledger) => {
        const id = randomUUID();
        assert.equal((await ledger.admit(admitRequest(key.id, id, 100n))).kind, 'admitted');
        return id;
      }),
    );
    const [one = '', two = '', three = ''] = holds;
    // Three of them at the hot connections, one purchase at an operator's.
    await overlapping(server, database, ['accounts', 'holds', 'entries'], 4, () =>
      Promise.all([
        ledgers[0]?.settle(settleRequest(key.id, one, 10n)),
        ledgers[1]?.settle(settleRequest(key.id, two, 20n)),
        ledgers[2]?.extend(three, key.id, 300n),
        ledgers[3]?.addCredit(key.id, randomUUID(), 500n, null),
      ]),
    );
    const summary = await first.summary(key.id);
    assert.deepEqual([summary?.used, summary?.reserved, summary?.purchased], [30n, 400n, 1_500n]);
    await closeAll(ledgers);
  });

  test('[F12] [F37] 64 parallel requests below one root over three gateways with credit for one: exactly one is admitted', async () => {
    const { database, ledgers } = await replicas(3);
    const [first] = ledgers as [OwnedLedger];
    for (let round = 0; round < 3; round++) {
      const { keys, accounts } = await tree(first, 10n);
      const outcomes = await overlapping(server, database, ['accounts', 'tree_accounts', 'holds'], 3, () =>
        Promise.all(
          Array.from({ length: 64 }, (_, i) =>
            ledgers[i % 3]?.admit(admitRequest(keys[i % keys.length] ?? '', randomUUID(), 10n)),
          ),
        ),
      );
      const kinds = outcomes.map((outcome) => outcome?.kind).sort();
      assert.deepEqual(kinds, ['admitted', ...Array<string>(63).fill('temporarily_held')]);
      assert.equal((await first.getAccount(accounts[0] ?? ''))?.reserved, 10n);
    }
    await closeAll(ledgers);
  });

  test('[F37] settlements, extensions and purchases below one root that meet: none of them is lost', async () => {
    const { database, ledgers } = await replicas(4);
    const [first] = ledgers as [OwnedLedger];
    const { keys, accounts } = await tree(first, 1_000n);
    const holds = await Promise.all(
      ledgers.map(async (ledger, i) => {
        const id = randomUUID();
        assert.equal((await ledger.admit(admitRequest(keys[i] ?? '', id, 100n))).kind, 'admitted');
        return id;
      }),
    );
    const [one = '', two = '', three = ''] = holds;
    const [root = ''] = accounts;
    await overlapping(server, database, ['accounts', 'tree_accounts', 'holds', 'entries'], 4, () =>
      Promise.all([
        ledgers[0]?.settle(settleRequest(keys[0] ?? '', one, 10n)),
        ledgers[1]?.settle(settleRequest(keys[1] ?? '', two, 20n)),
        ledgers[2]?.extend(three, keys[2] ?? '', 300n),
        ledgers[3]?.addAccountCredit(root, randomUUID(), 500n, null),
      ]),
    );
    const summary = await first.getAccount(root);
    assert.deepEqual([summary?.used, summary?.reserved, summary?.purchased], [30n, 400n, 1_500n]);
    await closeAll(ledgers);
  });

  test('[F37] 64 spenders below one root over three gateways, while caps, states and places change: no level is overspent', async () => {
    const { database, ledgers } = await replicas(3);
    const [first] = ledgers as [OwnedLedger];
    const { keys, accounts } = await tree(first, 6_000n);
    const [root = '', ...below] = accounts;
    const caps = new Map(below.map((id) => [id, 900n]));
    for (const [id, amount] of caps) await first.changeAccount(id, { creditCap: { amount, period: 'none' } });
    let over = false;
    const spend = async (spender: number): Promise<void> => {
      const ledger = ledgers[spender % 3] as OwnedLedger;
      const keyId = keys[spender % keys.length] ?? '';
      for (let round = 0; round < 12; round++) {
        const { key } = (await ledger.getKey(keyId)) ?? {};
        const id = randomUUID();
        const outcome = await ledger.admit(admitRequest(keyId, id, 20n, { keyVersion: key?.version ?? 0 }));
        if (outcome.kind !== 'admitted') continue;
        if (round % 3 === 0) await ledger.extend(id, keyId, 30n);
        if (round % 4 === 3) await ledger.void(id, keyId);
        else await ledger.settle(settleRequest(keyId, id, BigInt(5 + (spender % 16))));
      }
    };
    const change = async (): Promise<void> => {
      for (let turn = 0; !over; turn++) {
        const ledger = ledgers[turn % 3] as OwnedLedger;
        const id = below[turn % below.length] ?? '';
        await ledger.moveAccount(id, turn % 2 === 0 ? root : (below[(turn + 1) % below.length] ?? ''));
        await ledger.moveKey(keys[turn % keys.length] ?? '', below[turn % below.length] ?? '');
        await ledger.changeAccount(id, { status: turn % 5 === 0 ? 'suspended' : 'active' });
        await ledger.changeAccount(id, { status: 'active', rpmLimit: turn % 2 === 0 ? null : 10_000 });
      }
    };
    const changing = change();
    await Promise.all(Array.from({ length: 64 }, (_, spender) => spend(spender)));
    over = true;
    await changing;
    const summaries = await first.listAccounts();
    for (const { account, used, purchased, liveHolds, reserved } of summaries) {
      const most = account.parentId === null ? purchased : (caps.get(account.id) ?? 0n);
      assert.ok(used <= most, `${account.name} has used ${used} of ${most}`);
      assert.deepEqual([liveHolds, reserved], [0, 0n]);
    }
    const spent = await Promise.all(keys.map(async (keyId) => (await first.summary(keyId))?.used ?? 0n));
    assert.equal(
      summaries.find(({ account }) => account.id === root)?.used,
      spent.reduce((sum, used) => sum + used, 0n),
    );
    const stats = only(
      await server.query('postgres', `SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`),
    );
    assert.equal(stats.deadlocks, '0');
    await closeAll(ledgers);
  });

  test('[F37] keys join a tree through one gateway while others serve them and the tree: nothing is lost or locked out', async () => {
    const { database, ledgers } = await replicas(3);
    const [first, second, third] = ledgers as [OwnedLedger, OwnedLedger, OwnedLedger];
    const { keys, accounts } = await tree(first, 1_000n);
    const lone = await Promise.all(Array.from({ length: 8 }, () => first.createKey(newKey({ credit: 100n }))));
    const ids = [...keys, ...lone.map(({ id }) => id)];
    const spend = async (ledger: OwnedLedger): Promise<void> => {
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          ids.map(async (keyId) => {
            const version = (await ledger.getKey(keyId))?.key.version ?? 0;
            const id = randomUUID();
            const outcome = await ledger.admit(admitRequest(keyId, id, 2n, { keyVersion: version }));
            if (outcome.kind === 'admitted') await ledger.settle(settleRequest(keyId, id, 1n));
          }),
        );
      }
    };
    const join = async (): Promise<void> => {
      for (const { id } of lone) {
        while ((await first.joinAccount(id, accounts[1] ?? '', `join ${id}`)).kind !== 'changed');
      }
    };
    await Promise.all([spend(second), spend(third), join()]);
    const root = await first.getAccount(accounts[0] ?? '');
    const spent = await Promise.all(ids.map(async (keyId) => (await first.summary(keyId))?.used ?? 0n));
    const total = spent.reduce((sum, used) => sum + used, 0n);
    assert.equal((root?.purchased ?? 0n) - (root?.used ?? 0n), 1_800n - total);
    const stats = only(
      await server.query('postgres', `SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`),
    );
    assert.equal(stats.deadlocks, '0');
    await closeAll(ledgers);
  });

  test('[F27] [R11] a settlement that meets admissions of other gateways takes no slot of the rate limit back', async () => {
    const { database, ledgers } = await replicas(4);
    const [first] = ledgers as [OwnedLedger];
    const key = await first.createKey(newKey({ credit: 1_000n, rpmLimit: 7 }));
    const hold = randomUUID();
    const take = (index: number) =>
      ledgers[index % 4]?.admit(admitRequest(key.id, randomUUID(), 1n, { hold: null })).then(({ kind }) => kind);
    assert.equal((await first.admit(admitRequest(key.id, hold, 10n))).kind, 'admitted');
    const [settled, ...met] = await overlapping(server, database, ['accounts', 'rates', 'holds'], 4, () =>
      Promise.all([first.settle(settleRequest(key.id, hold, 4n)).then(({ kind }) => kind), take(1), take(2), take(3)]),
    );
    assert.deepEqual([settled, ...met], ['settled', 'admitted', 'admitted', 'admitted']);
    const rest = await Promise.all(Array.from({ length: 12 }, (_, index) => take(index)));
    assert.equal(rest.filter((kind) => kind === 'admitted').length, 3);
    assert.equal((await first.summary(key.id))?.used, 4n);
    await closeAll(ledgers);
  });

  test('[F26] changes of a key through two gateways that meet: both count, and a purchase sent through both is booked once', async () => {
    const { database, ledgers } = await replicas(2);
    const [one, two] = ledgers as [OwnedLedger, OwnedLedger];
    const key = await one.createKey(newKey({ credit: 10n }));
    const changes = await overlapping(server, database, ['accounts'], 2, () =>
      Promise.all([one.changeKey(key.id, { rpmLimit: 5 }), two.changeKey(key.id, { models: ['m'] })]),
    );
    assert.deepEqual([...new Set(changes.map(({ kind }) => kind))], ['changed']);
    const summary = await one.getKey(key.id);
    assert.deepEqual([summary?.key.rpmLimit, summary?.key.models, summary?.key.version], [5, ['m'], 3]);
    const entryId = randomUUID();
    const purchases = await overlapping(server, database, ['accounts'], 2, () =>
      Promise.all([one.addCredit(key.id, entryId, 5n, null), two.addCredit(key.id, entryId, 5n, null)]),
    );
    assert.deepEqual([...new Set(purchases.map(({ kind }) => kind))], ['added']);
    assert.equal((await one.summary(key.id))?.purchased, 15n);
    await closeAll(ledgers);
  });

  test('batches that name their keys in any order never lock each other out, and every operation is done once', async () => {
    const { database, ledgers } = await replicas(3);
    const keys = await Promise.all(
      Array.from({ length: 12 }, () => ledgers[0]?.createKey(newKey({ credit: 1_000_000n, rpmLimit: 1_000_000 }))),
    );
    await Promise.all(
      ledgers.map(async (ledger, seed) => {
        for (let round = 0; round < 25; round++) {
          // All of a round go in one batch: each gateway begins with another key.
          const order = keys.map((_, i) => keys[(i * 5 + seed * 3 + round) % keys.length]?.id ?? '');
          const holds = order.map((keyId) => [keyId, randomUUID()] as const);
          const admitted = await Promise.all(holds.map(([keyId, id]) => ledger.admit(admitRequest(keyId, id, 2n))));
          assert.ok(admitted.every(({ kind }) => kind === 'admitted'));
          for (const [keyId, holdId] of holds) ledger.mark({ keyId, holdId, charge: 1n, tokens: usageRecord().tokens });
          const settled = await Promise.all([
            ledger.recover().then(() => ({ kind: 'settled' })),
            ...holds
              .reverse()
              .map(([keyId, id]) => ledger.settle(settleRequest(keyId, id, 1n, { usage: usageRecord() }))),
          ]);
          assert.ok(settled.every(({ kind }) => kind === 'settled'));
        }
      }),
    );
    for (const key of keys) assert.equal((await ledgers[1]?.summary(key?.id ?? ''))?.used, 75n);
    const stats = only(
      await server.query('postgres', `SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`),
    );
    assert.equal(stats.deadlocks, '0');
    await closeAll(ledgers);
  });

  test('[F26] a key changed through one gateway is changed for all at once', async () => {
    const { ledgers } = await replicas(2);
    const [one, two] = ledgers as [OwnedLedger, OwnedLedger];
    const key = await one.createKey(newKey({ credit: 10n }));
    assert.equal((await two.admit(admitRequest(key.id, 'h1', 1n))).kind, 'admitted');
    await one.changeKey(key.id, { status: 'suspended' });
    assert.deepEqual(await two.admit(admitRequest(key.id, 'h2', 1n)), { kind: 'key_refused', status: 'suspended' });
    await one.changeKey(key.id, { status: 'active', rpmLimit: 1 });
    assert.equal((await two.admit(admitRequest(key.id, 'h3', 1n))).kind, 'key_changed');
    await closeAll(ledgers);
  });

  test('[F10] a gateway whose lease is over by the database’s clock is fenced; another one ends its holds', async () => {
    const database = await server.createDatabase(template);
    const url = server.url(database);
    const frozen = createLedger(await openPostgresStore({ url }), { leaseMs: 0 });
    const living = createLedger(await openPostgresStore({ url }));
    const key = await living.createKey(newKey({ credit: 10n }));
    await frozen.admit(admitRequest(key.id, 'h1', 5n));
    frozen.mark({ holdId: 'h1', keyId: key.id, charge: 2n, tokens: usageRecord().tokens });
    await frozen.ping();
    const maintenance = await startMaintenance(living);
    assert.deepEqual(await frozen.settle(settleRequest(key.id, 'h1', 5n)), { kind: 'already_settled', charged: 2n });
    assert.equal((await living.summary(key.id))?.used, 2n);
    await maintenance.stop();
    await closeAll([living, frozen]);
  });

  test('the clock of the database may be set back: a gateway goes on where it was, and so does one that starts', async () => {
    const clock = new ManualClock();
    const { database, ledgers } = await replicas(1, clock);
    const first = only(ledgers);
    const key = await first.createKey(newKey({ credit: 10n, rpmLimit: 1 }));
    await first.admit(admitRequest(key.id, 'h1', 1n));
    const late = new ManualClock();
    late.advance(-3_600_000);
    const second = createLedger(await openPostgresStore({ url: server.url(database), clock: late }));
    const refused = await second.admit(admitRequest(key.id, 'h2', 1n));
    assert.equal(refused.kind === 'rate_limited' && refused.retryAfterMs, 60_000);
    await closeAll([first, second]);
  });
});

describe('the ledger’s time', () => {
  test('[F11] never runs backwards in a gateway, and moves on by itself while the database’s clock is behind', async () => {
    const time = new LedgerClock(null);
    assert.deepEqual(time.values(), [null, 0]);
    const aheadMs = Date.now() + 3_600_000;
    time.saw(aheadMs);
    time.saw(aheadMs - 1_000);
    const [, floorMs] = time.values();
    assert.ok(floorMs >= aheadMs);
    const startedMs = performance.now();
    while (performance.now() - startedMs < 5) await Promise.resolve();
    assert.ok(time.values()[1] > floorMs);
  });
});

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
    await closeAll(ledgers);
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
    ledger.mark({ holdId: 'h1', keyId: budget.id, charge: 36n, tokens, call });
    ledger.mark({ holdId: 'h2', keyId: credit.id, charge: 36n, tokens });
    await ledger.ping();
    clock.advance(15_000);
    await recoverAll(ledger);
    assert.equal((await ledger.summary(budget.id))?.periodUsed, 36n);
    const rows = await server.query(database, 'SELECT * FROM gateway.usage ORDER BY hold_id');
    assert.deepEqual(
      rows.map((row) => [row.request_id, row.model, row.outcome, row.source, row.cost_nanos, row.duration_ms]),
      [
        [call.requestId, call.model, 'broken', 'counted', call.costNanos.toString(), '15000'],
        ['h2', '', 'broken', 'counted', '36', '15000'],
      ],
    );
    const flags = await server.query(database, `SELECT DISTINCT flag FROM gateway.entries WHERE kind = 'charge'`);
    assert.deepEqual(flags, [{ flag: 'recovered' }]);
    await closeAll(ledgers);
  });
});

describe('one bad operation', () => {
  async function openStore(): Promise<PostgresStore> {
    return openPostgresStore({ url: server.url(await server.createDatabase(template)), clock: new ManualClock() });
  }
  const admit = (keyId: string, holdId: string, amount: bigint, claimName?: string): Operation => ({
    op: 'admit',
    owner: 'o',
    request: admitRequest(keyId, holdId, amount, {
      claim: claimName === undefined ? null : { name: claimName, fingerprint: 'f' },
    }),
  });

  test('fails alone; the others of its batch are applied, once and in their order', async () => {
    const store = await openStore();
    const key = newKey({ credit: 10n });
    // Longer than an entry of an index can be, and nothing that could be compressed.
    const endlessName = Array.from({ length: 200 }, () => randomUUID()).join('');
    const { tokens } = usageRecord();
    const brokenUsage = usageRecord({ tokens: { ...tokens, output: 0.5 } });
    const results = await store.apply([
      { op: 'registerOwner', owner: 'o', leaseMs: 1_000 },
      { op: 'createKey', request: key },
      admit(key.id, 'h1', 4n),
      admit(key.id, 'h2', -1n),
      admit(key.id, 'h2', 1n, endlessName),
      admit(key.id, 'h2', 1n, 'a\0b'),
      { op: 'settle', request: settleRequest(key.id, 'h1', -1n) },
      { op: 'settle', request: settleRequest(key.id, 'h1', 3n, { usage: brokenUsage }) },
      { op: 'settle', request: settleRequest(key.id, 'h1', 3n) },
      { op: 'findKey', digest: key.secret.digest },
      admit(key.id, 'h3', 8n),
      admit(key.id, 'h3', 7n),
      { op: 'ping' },
    ]);
    assert.deepEqual(
      results
        .slice(2)
        .map((result) => (result !== null && 'kind' in result ? result.kind : (result?.valueOf() ?? null))),
      [
        'admitted',
        ...Array<string>(5).fill('operation_failed'),
        'settled',
        { ...(results[1] as object) },
        'insufficient',
        'admitted',
        null,
      ],
    );
    const [report] = await store.apply([{ op: 'audit' }]);
    assert.deepEqual(report, { ok: true, keys: 1, entries: 2, liveHolds: 1, findings: [], flagged: 0 });
    await store.close();
  });

  test('a batch larger than one statement may be is sent in parts', async () => {
    const store = await openStore();
    const key = newKey({ credit: 1_000n });
    await store.apply([
      { op: 'registerOwner', owner: 'o', leaseMs: 1_000 },
      { op: 'createKey', request: key },
    ]);
    const names = Array.from({ length: 100 }, (_, i) => `c${i}`);
    const admitted = await store.apply(names.map((name) => admit(key.id, name, 1n, name)));
    assert.ok(admitted.every((result) => result !== null && 'kind' in result && result.kind === 'admitted'));
    const [summary] = await store.apply([{ op: 'summary', keyId: key.id }]);
    assert.ok(summary !== null && summary !== undefined && 'liveHolds' in summary);
    assert.equal(summary.liveHolds, 100);
    await store.close();
  });

  test('an audit that takes long holds up neither requests nor the operator', async () => {
    const database = await server.createDatabase(template);
    const ledger = createLedger(await openPostgresStore({ url: server.url(database) }));
    const key = await ledger.createKey(newKey({ credit: 10n }));
    const blocker = new Client({ connectionString: server.url(database) });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE gateway.usage IN ACCESS EXCLUSIVE MODE');
    let audited = false;
    const report = ledger.audit().then((value) => {
      audited = true;
      return value;
    });
    assert.equal((await ledger.admit(admitRequest(key.id, 'h1', 1n))).kind, 'admitted');
    assert.equal((await ledger.settle(settleRequest(key.id, 'h1', 1n))).kind, 'settled');
    assert.equal((await ledger.changeKey(key.id, { status: 'revoked' })).kind, 'changed');
    assert.equal(audited, false);
    await blocker.end();
    assert.deepEqual((await report).findings, []);
    await ledger.close();
  });

  test('[R11] a key that stays locked is a failure of the store after a bounded wait, never an admission', async () => {
    const database = await server.createDatabase(template);
    const ledger = createLedger(await openPostgresStore({ url: server.url(database), lockTimeoutMs: 50 }));
    const key = await ledger.createKey(newKey({ credit: 10n, rpmLimit: 1 }));
    const blocker = new Client({ connectionString: server.url(database) });
    await blocker.connect();
    await blocker.query('BEGIN; SELECT FROM gateway.accounts FOR UPDATE');
    await assert.rejects(ledger.admit(admitRequest(key.id, 'h1', 1n)), StoreError);
    await blocker.end();
    assert.equal((await ledger.admit(admitRequest(key.id, 'h1', 1n))).kind, 'admitted');
    await closeAll([ledger]);
  });
});
