import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../src/core/time.ts';
import { USAGE_DIMENSIONS } from '../../src/core/usage-report.ts';
import { Bench, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';
import { CALL, report, rollUpAll, STARTS_AT, sums } from './usage-fixture.ts';

/** Sums that are kept of charges: whatever of them is added when, reports are those of the charges. */
export function rollupContract(open: OpenBooks): void {
  test('usage records that are removed stay in the reports; what no rollup counts yet is not removed', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const keyId = await bench.creditKey(1_000n);
    for (let i = 0; i < 5; i++) await bench.spend(keyId, 2n, { usage: usageRecord() });
    bench.clock.advance(3 * DAY_MS);
    const kept = ['charges', 'requests', 'charged_nanos', 'output'] as const;
    const expected = [[[], [5n, 5n, 10n, 100n]]];
    assert.equal((await bench.ledger.prune(DAY_MS)).removed, 0);
    assert.deepEqual(await sums(bench, kept, {}), expected);
    assert.equal(await rollUpAll(bench), 5);
    assert.ok((await bench.ledger.prune(DAY_MS)).removed >= 4);
    assert.deepEqual(await sums(bench, kept, {}), expected);
    await bench.spend(keyId, 1n, { usage: usageRecord() });
    assert.deepEqual(await sums(bench, kept, {}), [[[], [6n, 6n, 11n, 120n]]]);
    assert.equal(await rollUpAll(bench), 1);
    assert.deepEqual(await sums(bench, kept, {}), [[[], [6n, 6n, 11n, 120n]]]);
    await bench.close();
  });

  test('a report counts charges beyond what an integer holds, and figures beyond it do not stop the rollups', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const largest = 2n ** 63n - 1n;
    const keyId = await bench.budgetKey(null);
    for (const _ of [1, 2]) {
      await bench.spend(keyId, 1n, { usage: usageRecord({ costNanos: largest + 5n, model: randomUUID() }) });
    }
    await bench.spend(keyId, 1n, { usage: usageRecord({ costNanos: largest, model: 'same' }) });
    await bench.spend(keyId, 1n, { usage: usageRecord({ costNanos: largest, model: 'same' }) });
    const { total } = await report(bench);
    assert.equal(total.sums.cost_nanos, 4n * largest);
    await rollUpAll(bench);
    // One row of a rollup stops at the largest figure.
    assert.equal((await report(bench)).total.sums.cost_nanos, 3n * largest);
    await bench.close();
  });

  test('rollups and the rest are always the plain sum of the charges, wherever the watermark is', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const operations = await bench.connect();
    const keys = [
      await bench.creditKey(10n ** 12n, { label: 'x' }),
      await bench.creditKey(10n ** 12n, { label: 'y' }),
      await bench.budgetKey(null),
    ];
    const isCredit = (keyId: string) => keyId !== keys[2];
    const written: { keyId: string; atMs: number; model: string; amount: bigint; cost: bigint; output: bigint }[] = [];
    const charge = fc.record({
      kind: fc.constant('charge' as const),
      key: fc.nat(2),
      model: fc.constantFrom('m1', 'm2', 'm3'),
      amount: fc.bigInt(0n, 1_000_000n),
      cost: fc.bigInt(0n, 1_000_000n),
      recorded: fc.boolean(),
      output: fc.nat(1_000),
    });
    const step = fc.oneof(
      { weight: 6, arbitrary: charge },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('roll' as const), limit: fc.integer({ min: 1, max: 5 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(2 * HOUR_MS) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 30 }),
        fc.uniqueArray(fc.constantFrom(...USAGE_DIMENSIONS), { maxLength: 3 }),
        async (steps, by) => {
          for (const one of steps) {
            if (one.kind === 'roll') await operations.run<'rollUp'>({ op: 'rollUp', limit: one.limit });
            else if (one.kind === 'wait') bench.clock.advance(one.ms);
            else if (one.kind === 'prune') await bench.ledger.prune(HOUR_MS);
            else {
              const keyId = keys[one.key] ?? '';
              const usage = usageRecord({
                model: one.model,
                costNanos: one.cost,
                tokens: { input: 1, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: one.output, reasoning: 0 },
              });
              const holdId = await bench.hold(keyId, one.amount);
              const told = one.recorded ? { usage } : { usage: null, call: usage };
              await bench.ledger.settle(settleRequest(keyId, holdId, one.amount, told));
              const cost = isCredit(keyId) ? one.amount : one.cost;
              const output = one.recorded ? BigInt(one.output) : 0n;
              written.push({ keyId, atMs: bench.clock.nowMs(), model: one.model, amount: one.amount, cost, output });
            }
          }
          const plain = new Map<string, [bigint, bigint, bigint, bigint]>();
          for (const { keyId, atMs, model, amount, cost, output } of written) {
            const label = keyId === keys[0] ? 'x' : keyId === keys[1] ? 'y' : null;
            const hour = atMs - (atMs % HOUR_MS);
            const day = atMs - (atMs % DAY_MS);
            const values = {
              day,
              hour,
              key: keyId,
              label,
              account: null,
              model,
              provider: 'sandbox-a',
              format: 'chat',
            };
            const name = JSON.stringify(by.map((dimension) => values[dimension]));
            const [a, b, c, d] = plain.get(name) ?? [0n, 0n, 0n, 0n];
            plain.set(name, [a + 1n, b + amount, c + cost, d + output]);
          }
          const { rows } = await report(bench, { by });
          const reported = rows.map(({ group, sums: row }) => {
            const amount = row.charged_nanos + row.charged_tokens;
            return [JSON.stringify(group), [row.charges, amount, row.cost_nanos, row.output]];
          });
          assert.deepEqual(new Map(reported as []), plain);
        },
      ),
      { numRuns: 12, seed: 7 },
    );
    await bench.close();
  });

  test('two that add to the rollups at the same time add each charge once', async () => {
    const bench = await Bench.open(open, STARTS_AT);
    const keyId = await bench.creditKey(1_000n);
    const one = await bench.connect();
    const other = await bench.connect();
    for (let i = 0; i < 12; i++) await bench.spend(keyId, 1n, i % 2 === 0 ? { usage: usageRecord() } : { call: CALL });
    const roll = (operations: typeof one) => operations.run<'rollUp'>({ op: 'rollUp', limit: 2 });
    for (let i = 0; i < 8; i++) await Promise.all([roll(one), roll(other), roll(one)]);
    await rollUpAll(bench);
    assert.deepEqual(await sums(bench, ['charges', 'requests', 'charged_nanos'], {}), [[[], [12n, 6n, 12n]]]);
    await bench.close();
  });
}
