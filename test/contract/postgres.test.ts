import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { Client } from 'pg';
import { createLedger } from '../../src/ledger/ledger.ts';
import type { Operation } from '../../src/ledger/operations.ts';
import { LedgerClock } from '../../src/ledger/postgres/ledger-clock.ts';
import { openPostgresStore, type PostgresStore } from '../../src/ledger/postgres/store.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { ledgerContract } from './contract.ts';
import { admitRequest, ManualClock, newAccount, newKey, settleRequest, usageRecord } from './fixtures.ts';
import { closeAll, only, openLedger, PATIENT, replicas, server, template } from './postgres-books.ts';
import { severalGateways } from './postgres-gateways.ts';
import { migrations } from './postgres-migration.ts';
import { pruning } from './postgres-pruning.ts';
import { postgresSchema } from './postgres-schema.ts';
import { waits } from './postgres-waits.ts';

ledgerContract('PostgreSQL', openLedger);

severalGateways();

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

  test('a place in the rate limit of a key has left its window by the time of the account above, which another gateway has moved on', async () => {
    const clock = new ManualClock();
    const { database, ledgers } = await replicas(1, clock);
    const first = only(ledgers);
    const account = newAccount();
    await first.createAccount(account);
    await first.addAccountCredit(account.id, 'credit', 10n, null);
    const [limited, other] = [newKey({ accountId: account.id, rpmLimit: 3 }), newKey({ accountId: account.id })];
    for (const key of [limited, other]) await first.createKey(key);
    const late = new ManualClock();
    late.advance(30_000);
    const second = createLedger(await openPostgresStore({ url: server.url(database), clock: late }));
    await first.admit(admitRequest(limited.id, 'h1', 1n));
    clock.advance(59_999);
    await first.admit(admitRequest(other.id, 'h2', 1n));
    const remaining = async (hold: string): Promise<number | null> => {
      const outcome = await second.admit(admitRequest(limited.id, hold, 1n));
      return outcome.kind === 'admitted' && outcome.rate !== null ? outcome.rate.remaining : null;
    };
    assert.equal(await remaining('h3'), 1);
    clock.advance(1);
    await first.admit(admitRequest(other.id, 'h4', 1n));
    assert.equal(await remaining('h5'), 1);
    assert.equal(await remaining('h6'), 0);
    assert.equal(await remaining('h7'), null);
    await closeAll([first, second]);
  });
});

waits();

migrations();

postgresSchema();

pruning();

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
    assert.deepEqual(report, {
      ok: true,
      keys: 1,
      entries: 2,
      liveHolds: 1,
      findings: [],
      flagged: 0,
      flaggedCharges: [],
    });
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
    const ledger = createLedger(await openPostgresStore({ url: server.url(database), ...PATIENT }));
    const key = await ledger.createKey(newKey({ credit: 10n }));
    const blocker = new Client({ connectionString: server.url(database) });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE gateway.account_entries IN ACCESS EXCLUSIVE MODE');
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

  test('[F52] a row that somebody keeps locked is in nobody’s way but of those whom it is about, and serves again when it is free', async () => {
    const database = await server.createDatabase(template);
    const ledger = createLedger(await openPostgresStore({ url: server.url(database), lockTimeoutMs: 50 }));
    await ledger.register();
    const root = newAccount();
    const inner = newAccount({ parentId: root.id, creditCap: { amount: 100n, period: 'none' } });
    for (const account of [root, inner]) await ledger.createAccount(account);
    await ledger.addAccountCredit(root.id, 'credit', 100n, null);
    const [lone, below, other] = [newKey({ credit: 100n }), newKey({ accountId: inner.id }), newKey({ credit: 100n })];
    for (const key of [lone, below, other]) await ledger.createKey(key);
    let last = 0;
    const admit = async ({ id }: { id: string }) => (await ledger.admit(admitRequest(id, `h${++last}`, 1n))).kind;
    for (const [row, stuck] of [
      [`accounts WHERE key_id = '${lone.id}'`, lone],
      [`tree_accounts WHERE id = '${root.id}'`, below],
      [`tree_accounts WHERE id = '${inner.id}'`, below],
      [`accounts WHERE key_id = '${below.id}'`, below],
    ] as const) {
      const held = `h${last + 1}`;
      assert.deepEqual([await admit(stuck), await admit(other)], ['admitted', 'admitted']);
      const blocker = await server.connect(database);
      await blocker.query(`BEGIN; SELECT FROM gateway.${row} FOR UPDATE`);
      for (let batch = 0; batch < 3; batch++) {
        const both = await Promise.allSettled([admit(stuck), admit(other), admit(stuck)]);
        assert.deepEqual(
          both.map(({ status }) => status),
          ['rejected', 'fulfilled', 'rejected'],
          row,
        );
      }
      await assert.rejects(ledger.settle(settleRequest(stuck.id, held, 1n)), /locked by another transaction/);
      await blocker.end();
      assert.deepEqual(await ledger.settle(settleRequest(stuck.id, held, 1n)), { kind: 'settled', charged: 1n });
      assert.equal(await admit(stuck), 'admitted');
    }
    const report = await ledger.audit();
    assert.deepEqual([report.findings, report.entries], [[], 7]);
    await ledger.close();
  });

  test('[F52] marks beside one of a key whose row somebody keeps locked are kept', async () => {
    const database = await server.createDatabase(template);
    const store = await openPostgresStore({ url: server.url(database), lockTimeoutMs: 50 });
    const ledger = createLedger(store);
    await ledger.register();
    const keys = [newKey({ credit: 10n }), newKey({ credit: 10n })] as const;
    for (const key of keys) {
      await ledger.createKey(key);
      await ledger.admit(admitRequest(key.id, key.id, 5n));
    }
    const blocker = await server.connect(database);
    await blocker.query(`BEGIN; SELECT FROM gateway.accounts WHERE key_id = '${keys[0].id}' FOR UPDATE`);
    const { tokens } = usageRecord();
    const marks = keys.map(({ id }) => ({ keyId: id, holdId: id, charge: 2n, tokens }));
    for (let number = 1; number <= 2; number++) await store.apply([{ op: 'mark', number, marks }]);
    await blocker.end();
    const marked = await server.query(database, 'SELECT key_id FROM gateway.holds WHERE mark_charge = 2');
    assert.deepEqual(marked, [{ key_id: keys[1].id }]);
    await ledger.close();
  });
});
