/** What is noticed: levels of balances, caps and budgets, keys that expire, circuits and credentials. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { alertId, levelReached } from '../../../src/alerts/alert.ts';
import { Alerts } from '../../../src/alerts/alerts.ts';
import type { WatchedProvider } from '../../../src/alerts/provider-watch.ts';
import { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import { NO_LOG } from '../../../src/core/log.ts';
import type { AlertPolicy } from '../../../src/core/policy.ts';
import { openLogFile } from '../../../src/ledger/sqlite/wal-file.ts';
import { openSqliteEngine } from '../../../src/operators/sqlite.ts';
import { admitRequest, newAccount, newKey, settleRequest } from '../../contract/fixtures.ts';
import { adminFixture, temporaryFolder } from '../../support/admin-fixture.ts';

const POLICY: AlertPolicy = { webhooks: [], command: null, commandPath: '', allowPrivate: false, ca: null };
const CREDIT = 1_000_000_000n;

function world(t: TestContext) {
  const { ledger, clock } = adminFixture(t);
  const engine = openSqliteEngine({ file: join(temporaryFolder(t), 'operators.db'), openLog: openLogFile });
  t.after(() => engine.close());
  const store = new SqlAlertStore(async () => engine);
  let providers: readonly WatchedProvider[] = [];
  const gateway = (): Alerts =>
    new Alerts({
      store,
      ledger,
      policy: () => POLICY,
      providers: async () => providers,
      installationSecret: 'installation secret',
      log: NO_LOG,
      nowMs: () => clock.atMs,
    });
  const alerts = gateway();
  let seen = 0;
  return {
    ledger,
    clock,
    store,
    gateway,
    see: (states: readonly WatchedProvider[]): void => {
      providers = states;
    },
    spend: async (keyId: string, amount: bigint, tokens = 0n): Promise<void> => {
      const holdId = randomUUID();
      const { version } = (await ledger.getKey(keyId))?.key ?? { version: 1 };
      const hold = { id: holdId, amount, amountMin: amount, tokens, tokensMin: tokens, ttlMs: 600_000 };
      const admitted = await ledger.admit(admitRequest(keyId, holdId, amount, { keyVersion: version, hold }));
      assert.equal(admitted.kind, 'admitted');
      const settled = await ledger.settle(settleRequest(keyId, holdId, amount, { chargeTokens: tokens }));
      assert.equal(settled.kind, 'settled');
    },
    /** What is new since the last time. */
    look: async (by: Alerts = alerts): Promise<readonly Record<string, unknown>[]> => {
      await by.look();
      const all = await store.alerts({ limit: 100, before: null, type: null });
      const fresh = all.slice(0, all.length - seen).toReversed();
      seen = all.length;
      return fresh.map(({ type, body }) => ({ type, ...JSON.parse(body).data }));
    },
  };
}

describe('levels', () => {
  test('are reached exactly, and the highest counts', () => {
    assert.deepEqual(
      [49n, 50n, 79n, 80n, 94n, 95n, 99n, 100n, 150n].map((used) => levelReached(used, 100n)),
      [null, 50, 50, 80, 80, 95, 95, 100, 100],
    );
    assert.equal(levelReached(5n, 0n), null);
    assert.equal(levelReached(2n ** 62n, 2n ** 62n), 100);
  });

  test('have one id for one event', () => {
    assert.equal(alertId('usage.level', 'key', 'a', 50), alertId('usage.level', 'key', 'a', 50));
    assert.notEqual(alertId('usage.level', 'key', 'a', 50), alertId('usage.level', 'key', 'a 50'));
  });
});

describe('the watch', () => {
  test('tells each level of a balance once, and begins anew when credit is bought', async (t) => {
    const { ledger, spend, look, gateway } = world(t);
    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT, label: 'mine' }));
    await spend(id, 4n * CREDIT);
    assert.deepEqual(await look(), []);
    await spend(id, 1n * CREDIT);
    assert.deepEqual(await look(), [
      {
        type: 'usage.level',
        level: 50,
        key: id,
        name: 'mine',
        limit: 'balance',
        unit: 'credits',
        used: 5,
        amount: 10,
        period: 'none',
      },
    ]);
    await spend(id, 1n);
    assert.deepEqual(await look(), []);
    // Two levels at once are one alert; another gateway that looks has nothing to add.
    await spend(id, 5n * CREDIT - 1n);
    assert.deepEqual(
      (await look()).map(({ level }) => level),
      [100],
    );
    assert.deepEqual(await look(gateway()), []);
    await ledger.addCredit(id, 'more', 21n * CREDIT, null);
    await spend(id, 1n * CREDIT);
    assert.deepEqual(await look(), [], 'nothing of what was used before counts');
    await spend(id, 8n * CREDIT);
    assert.deepEqual(await look(), []);
    await spend(id, 2n * CREDIT);
    assert.deepEqual(
      (await look()).map(({ level, used, amount }) => [level, used, amount]),
      [[50, 10, 20]],
    );
  });

  test('tells levels of caps and budgets, of a key and of every account above it, in each period again', async (t) => {
    const { ledger, clock, spend, look } = world(t);
    const root = newAccount({ name: 'root', tokenCap: { amount: 1_000n, period: 'none' } });
    await ledger.createAccount(root);
    await ledger.addAccountCredit(root.id, 'first', 100n * CREDIT, null);
    const team = newAccount({ name: 'team', parentId: root.id, creditCap: { amount: 10n * CREDIT, period: 'day' } });
    await ledger.createAccount(team);
    const { id: capped } = await ledger.createKey(newKey({ accountId: team.id, cap: 5n * CREDIT, period: 'day' }));
    const { id: budget } = await ledger.createKey(
      newKey({ mode: 'token_budget', budget: 100n, period: 'day', accountId: root.id }),
    );
    await spend(capped, 5n * CREDIT, 10n);
    await spend(budget, 80n);
    const told = (found: readonly Record<string, unknown>[]) =>
      found.map(({ level, key, account, limit }) => [key ?? account, limit, level]).sort();
    assert.deepEqual(
      told(await look()),
      [
        [capped, 'cap', 100],
        [team.id, 'credit_cap', 50],
        [budget, 'budget', 80],
      ].sort(),
    );
    clock.atMs += 86_400_000;
    await spend(capped, 5n * CREDIT, 500n);
    assert.deepEqual(
      told(await look()),
      [
        [capped, 'cap', 100],
        [team.id, 'credit_cap', 50],
        [root.id, 'token_cap', 50],
      ].sort(),
    );
    await ledger.changeAccount(team.id, { creditCap: { amount: 6n * CREDIT, period: 'day' } });
    await spend(budget, 1n);
    assert.deepEqual(told(await look()), []);
  });

  test('tells that a key in use expires, a week and a day before', async (t) => {
    const { ledger, clock, spend, look } = world(t);
    const expiresAtMs = clock.atMs + 8 * 86_400_000;
    const { id } = await ledger.createKey(newKey({ credit: 1_000n * CREDIT, expiresAtMs }));
    const days: unknown[] = [];
    for (let hour = 0; hour < 8 * 24; hour += 6) {
      await spend(id, 1n);
      for (const { type, within_days } of await look()) days.push([type, within_days, hour]);
      clock.atMs += 6 * 3_600_000;
    }
    assert.deepEqual(days, [
      ['key.expiring', 7, 24],
      ['key.expiring', 1, 168],
    ]);
  });

  test('tells an open circuit and a refused credential once, whichever gateway sees it', async (t) => {
    const { see, look, gateway, clock } = world(t);
    const target = { upstream_model: 'm', models: ['p/m'] };
    const state = (circuit: 'open' | 'closed' | 'due', refusedAt: string | null): void =>
      see([{ name: 'p', credential_refused_at: refusedAt, targets: [{ ...target, circuit }] }]);
    state('closed', null);
    assert.deepEqual(await look(), []);
    state('open', '2026-01-15T12:00:00.000Z');
    const other = gateway();
    assert.deepEqual(
      (await look()).map(({ type, provider }) => [type, provider]),
      [
        ['circuit.open', 'p'],
        ['credential.refused', 'p'],
      ],
    );
    assert.deepEqual(await look(other), []);
    state('due', '2026-01-15T12:00:00.000Z');
    clock.atMs += 3_600_000;
    assert.deepEqual(await look(), [], 'it has been open all the time');
    state('closed', null);
    await look();
    state('open', null);
    assert.deepEqual(
      (await look()).map(({ type }) => type),
      ['circuit.open'],
    );
  });

  test('watches balances in one gateway at a time, and another goes on where that one is gone', async (t) => {
    const { ledger, clock, spend, look, gateway, store } = world(t);
    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT }));
    await look();
    await spend(id, 5n * CREDIT);
    const other = gateway();
    assert.deepEqual(await look(other), [], 'the first one has the watch');
    clock.atMs += 30_000;
    assert.deepEqual(
      (await look(other)).map(({ level }) => level),
      [50],
    );
    assert.equal(await store.watchAs('third', clock.atMs, clock.atMs + 5), false);
  });
});
