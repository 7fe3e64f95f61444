import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts';
import { offsetsWithin } from '../../src/core/time-zone.ts';
import type { UsageOrder, UsageQuery, UsageSum } from '../../src/core/usage-report.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';
import { CALL, query, report, rollUpAll, STARTS_AT, sums } from './usage-fixture.ts';

export function usageContract(open: OpenBooks): void {
  test('[R49] usage reports: money of every charge, counts and tokens of those with a usage record', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const credit = await bench.creditKey(1_000n, { label: 'team a' });
    const budget = await bench.budgetKey(1_000n);
    await bench.spend(credit, 7n, { usage: usageRecord() });
    await bench.spend(credit, 5n, { call: CALL });
    await bench.spend(budget, 36n, { usage: usageRecord({ costNanos: 99n, outcome: 'broken', firstByteMs: null }) });
    await bench.spend(budget, 8n, { call: CALL });
    // As a gateway of an earlier release settles a cancelled call.
    await bench.spend(credit, 3n);

    const money: UsageSum[] = ['charges', 'charged_nanos', 'charged_tokens', 'cost_nanos', 'provider_cost_nanos'];
    const counts: UsageSum[] = ['charges', 'requests', 'broken', 'input', 'cache_read', 'output', 'reasoning'];
    for (const rolled of [0, 5]) {
      assert.deepEqual(await sums(bench, money, { by: ['model', 'provider', 'format'] }), [
        [
          ['', '', ''],
          [1n, 3n, 0n, 3n, 0n],
        ],
        [
          ['sandbox/alpha', 'sandbox-a', 'chat'],
          [2n, 7n, 36n, 106n, 10n],
        ],
        [
          ['sandbox/beta', 'sandbox-b', 'messages'],
          [2n, 5n, 8n, 16n, 8n],
        ],
      ]);
      assert.deepEqual(await sums(bench, counts, { by: ['label'] }), [
        [[null], [2n, 1n, 1n, 10n, 3n, 20n, 5n]],
        [['team a'], [3n, 1n, 0n, 10n, 3n, 20n, 5n]],
      ]);
      const { total, rows } = await report(bench);
      assert.deepEqual([rows.length, total.sums.charges, total.sums.charged_nanos], [1, 5n, 15n]);
      // 120 ms to the first byte of one request, 812 ms of two: within their classes.
      assert.deepEqual([total.firstByteMs?.p50, total.durationMs?.p50, total.durationMs?.p99], [125, 900, 998]);
      assert.equal(await rollUpAll(bench), 5 - rolled);
    }
    await bench.close();
  });

  test('[R78] usage reports: a background response that was ended from this side is cancelled, not broken, and its tokens count', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const key = await bench.creditKey(1_000n);
    await bench.spend(key, 7n, { usage: usageRecord() });
    await bench.spend(key, 5n, { usage: usageRecord({ outcome: 'cancelled' }) });
    await bench.spend(key, 4n, { call: CALL });
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await sums(bench, ['charges', 'requests', 'broken', 'output'], {}), [[[], [3n, 1n, 0n, 40n]]]);
      await rollUpAll(bench);
    }
    await bench.close();
  });

  test('[F2] a recovered request took as long as it was known to run, however late it is found', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const root = newAccount();
    await bench.ledger.createAccount(root);
    await bench.ledger.addAccountCredit(root.id, 'first', 1_000n, null);
    const keys = [await bench.creditKey(100n), (await bench.ledger.createKey(newKey({ accountId: root.id }))).id];
    const dying = await bench.another({ leaseMs: 2_000 });
    const { outcome, source, tokens, durationMs, ...call } = usageRecord({ firstByteMs: 8_500 });
    for (const [index, keyId] of keys.entries()) {
      for (const holdId of [`known-${index}`, `begun-${index}`]) {
        const admitted = await dying.admit(admitRequest(keyId, holdId, 10n));
        assert.equal(admitted.kind, 'admitted');
      }
    }
    for (const marks of [1, 2]) {
      bench.clock.advance(1_500);
      await dying.heartbeat();
      for (const [index, keyId] of keys.entries()) {
        dying.mark({ holdId: `known-${index}`, keyId, charge: 3n, tokens });
        // It had arrived long before it was admitted.
        if (marks === 1) dying.mark({ holdId: `begun-${index}`, keyId, charge: 3n, tokens, call });
      }
      await dying.ping();
    }
    bench.clock.advance(HOUR_MS);
    await recoverAll(bench.ledger);
    for (let round = 0; round < 2; round++) {
      const { rows } = await report(bench, { by: ['model'] });
      assert.deepEqual(
        rows.map(({ group, sums, durationMs }) => [group, sums.requests, sums.broken, durationMs?.p50]),
        // 3 s and 8.5 s, each in the middle of its class.
        [
          [[''], 2n, 2n, 3_500],
          [[call.model], 2n, 2n, 9_000],
        ],
      );
      await rollUpAll(bench);
    }
    await bench.close();
  });

  test('usage reports by account: the one that a key has now, and none for keys that pay for themselves', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const root = newAccount({ name: 'root' });
    const team = newAccount({ name: 'team', parentId: root.id });
    for (const request of [root, team]) assert.equal((await bench.ledger.createAccount(request)).kind, 'account');
    await bench.ledger.addAccountCredit(root.id, 'first', 1_000n, null);
    const alone = await bench.creditKey(1_000n);
    const keyOf = async (accountId: string) => (await bench.ledger.createKey(newKey({ accountId }))).id;
    const [ofRoot, ofTeam] = [await keyOf(root.id), await keyOf(team.id)];
    await bench.spend(alone, 1n, { usage: usageRecord() });
    await bench.spend(ofRoot, 2n, { usage: usageRecord() });
    await bench.spend(ofTeam, 4n, { usage: usageRecord() });
    await bench.spend(ofTeam, 8n, { call: CALL });
    const byAccount = async () => new Map((await sums(bench, ['charged_nanos'], { by: ['account'] })) as []);
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(
        await byAccount(),
        new Map([
          [[null], [1n]],
          [[root.id], [2n]],
          [[team.id], [12n]],
        ]),
      );
      const accountOf = new Map([[team.id, root.id]]);
      assert.deepEqual(await sums(bench, ['charged_nanos'], { by: ['account'], accountOf }), [
        [[null], [1n]],
        [[root.id], [14n]],
      ]);
      await rollUpAll(bench);
    }
    await bench.ledger.moveKey(ofTeam, root.id);
    assert.deepEqual(
      await byAccount(),
      new Map([
        [[null], [1n]],
        [[root.id], [14n]],
      ]),
    );
    await bench.close();
  });

  test('usage by account is that of the keys that it has now, wherever the watermark is and however keys move', async () => {
    const bench = await Bench.open(open, '2026-03-08T10:00:00Z');
    const operations = await bench.connect();
    const root = newAccount({ name: 'root' });
    const teams = ['a', 'b'].map((name) => newAccount({ name, parentId: root.id }));
    for (const request of [root, ...teams]) assert.equal((await bench.ledger.createAccount(request)).kind, 'account');
    await bench.ledger.addAccountCredit(root.id, 'first', 1_000_000n, null);
    const places = [root, ...teams].map(({ id }) => id);
    const keys = new Map<string, string | null>([[await bench.creditKey(1_000_000n), null]]);
    for (const accountId of [...places, ...places]) {
      keys.set((await bench.ledger.createKey(newKey({ accountId }))).id, accountId);
    }
    const compare = async (change: Partial<UsageQuery>) => {
      const wanted = new Map<string, bigint>();
      for (const { group, sums: row } of (await report(bench, { ...change, by: ['key', 'day'] })).rows) {
        const name = JSON.stringify([keys.get(String(group[0])), group[1]]);
        wanted.set(name, (wanted.get(name) ?? 0n) + row.charged_nanos);
      }
      const found = await report(bench, { ...change, by: ['account', 'day'] });
      const reported = found.rows.map(({ group, sums: row }) => [JSON.stringify(group), row.charged_nanos] as const);
      assert.deepEqual(new Map(reported), wanted);
      const counted = found.rows.reduce((sum, { sums: row }) => sum + row.charges, 0n);
      assert.equal(counted, found.total.sums.charges);
    };
    const ids = [...keys.keys()];
    const versions = new Map<string, number>();
    for (let step = 0; step < 60; step++) {
      const keyId = ids[(step * 5) % ids.length] ?? '';
      const amount = BigInt(step + 1);
      const holdId = await bench.hold(keyId, amount, { keyVersion: versions.get(keyId) ?? 1 });
      await bench.ledger.settle(settleRequest(keyId, holdId, amount, { usage: usageRecord() }));
      bench.clock.advance(3 * HOUR_MS);
      if (step % 7 === 3) await rollUpAll(bench);
      else if (step % 7 === 5) await operations.run<'rollUp'>({ op: 'rollUp', limit: 1 });
      if (step % 4 === 2) {
        const accountId = places[(step * 7) % places.length] ?? '';
        const outcome =
          keys.get(keyId) === null
            ? await bench.ledger.joinAccount(keyId, accountId, `join ${step}`)
            : await bench.ledger.moveKey(keyId, accountId);
        assert.ok(outcome.kind === 'changed');
        versions.set(keyId, outcome.key.version);
        keys.set(keyId, accountId);
      }
      if (step % 3 === 0) await compare({});
    }
    await rollUpAll(bench);
    await compare({});
    await compare({
      sinceMs: Date.parse('2026-03-09T05:00:00Z'),
      untilMs: Date.parse('2026-03-12T17:00:00Z'),
    });
    await bench.close();
  });

  test('a report of the groups with the most of something has the total of all', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const keys = [];
    for (const label of ['small', 'large', 'middle', 'least']) keys.push(await bench.creditKey(1_000n, { label }));
    const [small = '', large = '', middle = '', least = ''] = keys;
    const spend = (keyId: string, amount: bigint, model: string) =>
      bench.spend(keyId, amount, { usage: usageRecord({ model }) });
    for (const [keyId, amount] of [
      [small, 3n],
      [large, 100n],
      [middle, 20n],
    ] as const) {
      await spend(keyId, amount, 'one');
      bench.clock.advance(DAY_MS);
      await spend(keyId, amount, 'two');
    }
    for (let i = 0; i < 5; i++) await spend(least, 0n, 'two');
    const top = (count: number, order: UsageOrder, change: Partial<UsageQuery>) =>
      report(bench, { ...change, top: { count, order } });
    for (let round = 0; round < 2; round++) {
      const groups = async (...asked: Parameters<typeof top>) => (await top(...asked)).rows.map(({ group }) => group);
      assert.deepEqual(await groups(2, 'cost', { by: ['key'] }), [[large], [middle]]);
      assert.deepEqual(await groups(2, 'cost', { by: ['key', 'label'] }), [
        [large, 'large'],
        [middle, 'middle'],
      ]);
      assert.deepEqual(await groups(1, 'requests', { by: ['label'] }), [['least']]);
      assert.deepEqual(await groups(1, 'tokens', { by: ['model'] }), [['two']]);
      assert.deepEqual(await groups(9, 'cost', { by: ['account'] }), [[null]]);
      const byDay = await top(1, 'cost', { by: ['day', 'key'] });
      assert.deepEqual(
        byDay.rows.map(({ group, sums: row }) => [group[1], row.charged_nanos]),
        [
          [large, 100n],
          [large, 100n],
        ],
      );
      assert.deepEqual([byDay.total.sums.charges, byDay.total.sums.charged_nanos], [11n, 246n]);
      assert.deepEqual(await groups(1, 'cost', { by: ['key'], keys: new Set([small, least]) }), [[small]]);
      await rollUpAll(bench);
    }
    await bench.close();
  });

  test('usage reports by day, hour and key, over whole days and parts of them', async () => {
    const bench = await Bench.open(open, '2026-03-08T22:30:00Z');
    const keys = [await bench.creditKey(1_000n), await bench.creditKey(1_000n)];
    const [first = '', second = ''] = keys;
    for (let hour = 0; hour < 60; hour++) {
      await bench.spend(hour % 2 === 0 ? first : second, 1n, { usage: usageRecord() });
      bench.clock.advance(HOUR_MS);
      if (hour === 20) await rollUpAll(bench);
    }
    const days = ['2026-03-08', '2026-03-09', '2026-03-10', '2026-03-11'].map((day) => Date.parse(day));
    const counts: UsageSum[] = ['charges'];
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(
        await sums(bench, counts, { by: ['day'] }),
        [2n, 24n, 24n, 10n].map((count, index) => [[days[index]], [count]]),
      );
      // Clocks in New York are five hours behind, and four from the morning of March 8 on.
      const newYork = offsetsWithin('America/New_York', query().sinceMs, query().untilMs);
      assert.deepEqual(
        await sums(bench, counts, { by: ['day'], offsets: newYork }),
        [6n, 24n, 24n, 6n].map((count, index) => [[days[index]], [count]]),
      );
      assert.deepEqual(
        await sums(bench, counts, { by: ['key', 'day'], filter: { key: first }, offsets: newYork }),
        [3n, 12n, 12n, 3n].map((count, index) => [[first, days[index]], [count]]),
      );
      assert.deepEqual(
        await sums(bench, counts, { by: ['key', 'day'], filter: { key: first } }),
        [1n, 12n, 12n, 5n].map((count, index) => [[first, days[index]], [count]]),
      );
      assert.deepEqual(
        await sums(bench, counts, { by: ['day'], keys: new Set([second, 'nobody']) }),
        [1n, 12n, 12n, 5n].map((count, index) => [[days[index]], [count]]),
      );
      assert.deepEqual(await sums(bench, counts, { by: ['day'], keys: new Set() }), []);
      const sinceMs = Date.parse('2026-03-09T05:00:00Z');
      const untilMs = Date.parse('2026-03-11T03:00:00Z');
      const part = await report(bench, { by: ['key'], sinceMs, untilMs });
      assert.deepEqual(
        part.rows.map(({ group, sums: { charges } }) => [group[0], charges]),
        keys.toSorted().map((key) => [key, 23n]),
      );
      const hours = await report(bench, { by: ['hour', 'key'], sinceMs, untilMs });
      assert.deepEqual([hours.rows.length, hours.rows[0]?.group[0]], [46, sinceMs]);
      assert.deepEqual(await bench.ledger.usageReport(query({ by: ['hour'], rowsMax: 59 })), { kind: 'too_many_rows' });
      await rollUpAll(bench);
    }
    await bench.close();
  });
}
