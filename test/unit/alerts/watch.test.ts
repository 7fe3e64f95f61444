/** What is noticed: levels of balances, caps and budgets, keys that expire, circuits and credentials. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { alertId } from '../../../src/alerts/alert.ts';
import { ChangeWatch } from '../../../src/alerts/change-watch.ts';
import { ExpiryWatch } from '../../../src/alerts/expiry-watch.ts';
import { type Levels, levelReached } from '../../../src/alerts/levels.ts';
import type { SqlAlertStore } from '../../../src/alerts/sql-store.ts';
import type { AuditTrailEntry, AuditTrailQuery } from '../../../src/operators/port.ts';
import { admitRequest, newAccount, newKey, settleRequest, usageRecord } from '../../contract/fixtures.ts';
import { CREDIT, POLICY, watchWorld } from './watch-world.ts';

describe('levels', () => {
  const at = (used: bigint, amount: bigint, levels: Partial<Levels> = {}, unit: 'credit' | 'tokens' = 'tokens') =>
    levelReached({ used, amount, unit }, { ...POLICY, ...levels });

  test('are reached exactly, and the highest counts', () => {
    assert.deepEqual(
      [49n, 50n, 79n, 80n, 94n, 95n, 99n, 100n, 150n].map((used) => at(used, 100n)),
      [null, ...[50, 50, 80, 80, 95, 95, 100, 100].map((level) => ({ level }))],
    );
    assert.equal(at(5n, 0n), null);
    assert.deepEqual(at(2n ** 62n, 2n ** 62n), { level: 100 });
  });

  test('are those that the operator names, in any order, as percents and as what is left', () => {
    const levels = { levels: [90, 10], creditsLeft: [0.5, 3], tokensLeft: [7] };
    const credits = (used: string) => at(BigInt(Math.round(Number(used) * 1e9)), 10n * CREDIT, levels, 'credit');
    assert.deepEqual(['0.9', '1', '6.9', '7', '8.9', '9', '9.4', '9.5', '10'].map(credits), [
      null,
      { level: 10 },
      { level: 10 },
      { left: 3 },
      { left: 3 },
      { level: 90 },
      { level: 90 },
      { left: 0.5 },
      { left: 0.5 },
    ]);
    assert.deepEqual([at(92n, 100n, levels), at(93n, 100n, levels)], [{ level: 90 }, { left: 7 }]);
    assert.deepEqual(at(100n, 100n, { levels: [] }), null);
    // Who never had more than that is not told at once.
    assert.equal(at(0n, 7n, { levels: [], tokensLeft: [7, 8] }), null);
    assert.equal(at(6n, 7n, { levels: [], tokensLeft: [7, 8] }), null);
  });

  test('have one id for one event', () => {
    assert.equal(alertId('usage.level', 'key', 'a', 50), alertId('usage.level', 'key', 'a', 50));
    assert.notEqual(alertId('usage.level', 'key', 'a', 50), alertId('usage.level', 'key', 'a 50'));
  });
});

describe('the watch', () => {
  test('tells the operator of a key that was charged less on a day than providers ask, once for each day', async (t) => {
    const { ledger, clock, store, look, gateway } = watchWorld(t);
    const { id } = await ledger.createKey(newKey({ credit: 1_000n * CREDIT }));
    const call = async (amount: bigint, providerCostNanos: bigint): Promise<void> => {
      const holdId = randomUUID();
      assert.equal((await ledger.admit(admitRequest(id, holdId, amount))).kind, 'admitted');
      const usage = usageRecord({ costNanos: amount, providerCostNanos });
      await ledger.settle(settleRequest(id, holdId, amount, { usage }));
    };
    await call(2n * CREDIT, 2n * CREDIT);
    assert.deepEqual(await look(), []);
    await call(CREDIT, CREDIT + 1n);
    clock.atMs += 600_000;
    const below = { type: 'spend.below_cost', key: id, day: '2026-01-15', cost: 3, provider_cost: 3.000000001 };
    assert.deepEqual(await look(), [below]);
    await call(CREDIT, 5n * CREDIT);
    clock.atMs += 600_000;
    assert.deepEqual(await look(), []);
    assert.deepEqual(await look(gateway()), []);
    // What another day makes good does not count for this one.
    clock.atMs += 86_400_000;
    await call(9n * CREDIT, CREDIT);
    assert.deepEqual(await look(), []);
    await call(CREDIT, 10n * CREDIT);
    clock.atMs += 600_000;
    assert.deepEqual(
      (await look()).map(({ type, day, cost, provider_cost }) => [type, day, cost, provider_cost]),
      [['spend.below_cost', '2026-01-16', 10, 11]],
    );
    assert.equal((await store.alerts({ limit: 10, before: null, type: 'spend.below_cost' })).length, 2);
  });

  test('tells levels of caps and budgets, of a key and of every account above it, in each period again', async (t) => {
    const { ledger, clock, spend, look } = watchWorld(t);
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

  test('tells a level that a lowered cap or budget reaches, without a request', async (t) => {
    const { ledger, service, spend, look } = watchWorld(t);
    const root = newAccount({ name: 'root', creditCap: { amount: 100n * CREDIT, period: 'none' } });
    await ledger.createAccount(root);
    await ledger.addAccountCredit(root.id, 'first', 1_000n * CREDIT, null);
    const { id: capped } = await ledger.createKey(newKey({ accountId: root.id, cap: 100n * CREDIT }));
    const { id: budget } = await ledger.createKey(newKey({ mode: 'token_budget', budget: 100n }));
    await spend(capped, 40n * CREDIT);
    await spend(budget, 40n);
    assert.deepEqual(await look(), []);
    await service.changeKey(budget, { budget: 50 });
    await service.changeKey(capped, { cap: '41' });
    await assert.rejects(service.changeKey(capped, { cap: 'much' }));
    const told = async () => (await look()).map(({ key, account, level }) => [key ?? account, level]).sort();
    assert.deepEqual(
      await told(),
      [
        [budget, 80],
        [capped, 95],
      ].sort(),
    );
    await service.accounts.change(root.id, { credit_cap: '40/none' });
    assert.deepEqual(await told(), [[root.id, 100]]);
    // Each change is looked at once.
    assert.deepEqual(await told(), []);
  });

  test('tells that a key that nobody uses expires, also one that was changed or imported', async (t) => {
    const { ledger, service, clock, look } = watchWorld(t);
    const day = 86_400_000;
    const { id } = await ledger.createKey(newKey({ expiresAtMs: clock.atMs + 8 * day }));
    const { id: revoked } = await ledger.createKey(newKey({ expiresAtMs: clock.atMs + day }));
    const { id: later } = await ledger.createKey(newKey({}));
    await service.changeKey(revoked, { status: 'revoked' });
    const told = async () => (await look()).map(({ key, within_days }) => [key, within_days]);
    assert.deepEqual(await told(), []);
    await service.changeKey(later, { expires_at: new Date(clock.atMs + 3 * day).toISOString() });
    assert.deepEqual(await told(), [[later, 7]]);
    clock.atMs += day;
    assert.deepEqual(await told(), [[id, 7]]);
    assert.deepEqual(await told(), []);
    clock.atMs += 6 * day;
    assert.deepEqual(await told(), [[id, 1]]);
  });

  test('reads of many keys that expire a page at a look, and of the audit trail what is new', async () => {
    const keys = Array.from({ length: 2_500 }, (_, index) => ({ atMs: 1_000, keyId: String(index).padStart(5, '0') }));
    let asked = 0;
    const expiries = new ExpiryWatch({
      expiringKeys: async (after, untilMs, limit) => {
        asked++;
        const next = keys.filter(
          ({ atMs, keyId }) => atMs > after.atMs || (atMs === after.atMs && keyId > after.keyId),
        );
        return next.filter(({ atMs }) => atMs <= untilMs).slice(0, limit);
      },
    });
    const found: number[] = [];
    for (let look = 0; look < 5; look++) found.push((await expiries.next(0)).length);
    assert.deepEqual([found, asked], [[1_000, 1_000, 500, 0, 0], 3]);

    const entry = (number: number, fields: Partial<AuditTrailEntry> = {}): AuditTrailEntry =>
      ({ number, action: 'key.change', target: `key_${number}`, outcome: 'done', ...fields }) as AuditTrailEntry;
    let trail = [entry(10), entry(12), entry(13, { action: 'session.create' }), entry(14, { outcome: 'refused' })];
    const queries: AuditTrailQuery[] = [];
    const changes = new ChangeWatch({
      auditTrail: async (query) => {
        queries.push(query);
        const { after = 0, before = Number.MAX_SAFE_INTEGER, limit } = query;
        const inside = trail.filter(({ number }) => number > after && number < before);
        return inside.sort((a, b) => b.number - a.number).slice(0, limit);
      },
    });
    assert.deepEqual(await changes.next(), ['key_10', 'key_12'], 'in the order of the changes');
    // One that was written by another gateway before, and is seen only now.
    trail = [...trail, entry(11)];
    assert.deepEqual(await changes.next(), ['key_11']);
    trail = [...trail, ...Array.from({ length: 1_500 }, (_, index) => entry(1_000 + index))];
    assert.equal((await changes.next()).length, 1_500);
    assert.deepEqual(await changes.next(), []);
    assert.ok(queries.slice(1).every(({ after }) => after !== undefined));
  });

  test('tells an audit with findings that somebody asked for', async (t) => {
    const { ledger, service, look } = watchWorld(t);
    t.mock.method(ledger, 'audit', async () => ({
      ...{
        ok: false,
        keys: 1,
        entries: 1,
        liveHolds: 0,
        findings: ['a balance differs'],
        flagged: 0,
        flaggedCharges: [],
      },
    }));
    assert.equal((await service.audit()).ok, false);
    assert.deepEqual(
      (await service.alerts.list({})).data.map(({ type }) => type),
      ['audit.failed'],
    );
    await look();
  });

  test('tells that a key in use expires, a week and a day before', async (t) => {
    const { ledger, clock, spend, look } = watchWorld(t);
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
    const { see, look, gateway, clock } = watchWorld(t);
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

  test('loses nothing that it notices while the store fails, and tells what else there is', async (t) => {
    const { see, look, gateway, store, clock, ledger, spend } = watchWorld(t);
    let problems: readonly string[] = [];
    const failing = new Set<string>();
    const raise = store.raise.bind(store);
    t.mock.method(store, 'raise', async (...given: Parameters<SqlAlertStore['raise']>) => {
      if (failing.has(given[0].type)) throw new Error('the disk is full');
      return raise(...given);
    });
    const alerts = gateway({
      ownFiles: () => ({ problems, certificates: [] }),
      shortfalls: async () => {
        throw new Error('nobody knows');
      },
    });
    const types = async () => (await look(alerts)).map(({ type }) => type);
    const target = { upstream_model: 'm', models: ['p/m'] };
    const state = (circuit: 'open' | 'closed', refusedAt: string | null): void =>
      see([{ name: 'p', credential_refused_at: refusedAt, targets: [{ ...target, circuit }] }]);
    state('closed', null);
    assert.deepEqual(await types(), []);

    const { id } = await ledger.createKey(newKey({ credit: 10n * CREDIT }));
    await spend(id, 5n * CREDIT);
    state('open', '2026-01-15T12:00:00.000Z');
    problems = ['gateway.yaml: no such provider'];
    for (const type of ['circuit.open', 'reload.refused']) failing.add(type);
    assert.deepEqual(await types(), ['credential.refused', 'usage.level']);
    // It is what happened then, once, however long the store has failed.
    clock.atMs += 3_600_000;
    state('closed', '2026-01-15T12:00:00.000Z');
    problems = [];
    failing.clear();
    assert.deepEqual(await types(), ['circuit.open', 'reload.refused']);
    assert.deepEqual(await types(), []);

    failing.add('audit.failed');
    await assert.rejects(
      alerts.auditFailed({
        ok: false,
        keys: 1,
        entries: 1,
        liveHolds: 0,
        findings: ['x'],
        flagged: 0,
        flaggedCharges: [],
      }),
      /disk is full/,
    );
    failing.clear();
    assert.deepEqual(await types(), ['audit.failed']);
  });

  test('watches balances in one gateway at a time, and another goes on where that one is gone', async (t) => {
    const { ledger, clock, spend, look, gateway, store } = watchWorld(t);
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
