import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bench, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';

export function settlementContract(open: OpenBooks): void {
  test('[R13] a charge never exceeds its hold; a larger one is clamped and flagged', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 4n);
    assert.deepEqual(await ledger.settle(settleRequest(keyId, holdId, 9n)), { kind: 'settled', charged: 4n });
    await bench.spend(keyId, 1n);
    assert.equal((await ledger.audit()).flagged, 1);
    await bench.spend(keyId, 1n, { flag: 'usage was odd' });
    assert.equal((await ledger.audit()).flagged, 2);
    assert.equal((await bench.summary(keyId)).used, 6n);
    await bench.close();
  });

  test('[F5] a settlement sent twice charges once, and the first one counts', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 5n);
    const [first, second] = await Promise.all([
      ledger.settle(settleRequest(keyId, holdId, 3n, { usage: usageRecord() })),
      ledger.settle(settleRequest(keyId, holdId, 5n, { usage: usageRecord() })),
    ]);
    assert.deepEqual(first, { kind: 'settled', charged: 3n });
    assert.deepEqual(second, { kind: 'already_settled', charged: 3n });
    assert.deepEqual(await ledger.void(holdId, keyId), { kind: 'already_settled', charged: 3n });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved, summary.requests], [3n, 0n, 1]);
    await bench.close();
  });

  test('[F5] a hold that was voided stays voided', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 5n);
    assert.deepEqual(await ledger.void(holdId, keyId), { kind: 'voided' });
    assert.deepEqual(await ledger.void(holdId, keyId), { kind: 'already_voided' });
    assert.deepEqual(await ledger.settle(settleRequest(keyId, holdId, 5n)), { kind: 'already_voided' });
    assert.deepEqual(await ledger.settle(settleRequest(keyId, 'nothing', 5n)), { kind: 'already_voided' });
    assert.deepEqual(await ledger.void('nothing', 'nobody'), { kind: 'already_voided' });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved, summary.liveHolds], [0n, 0n, 0]);
    await bench.close();
  });

  test('[R52] credit sums: purchased, used, reserved, the newest charge, and the spend since 00:00 UTC', async () => {
    const bench = await Bench.open(open, '2026-03-10T23:59:58Z');
    const { clock } = bench;
    const keyId = await bench.creditKey(100n);
    await bench.spend(keyId, 30n);
    clock.advance(1_000);
    await bench.spend(keyId, 12n);
    await bench.hold(keyId, 8n);
    const today = await bench.summary(keyId);
    assert.deepEqual(
      [today.purchased, today.used, today.reserved, today.lastCost, today.todaySpend, today.liveHolds],
      [100n, 42n, 8n, 12n, 42n, 1],
    );
    assert.deepEqual([today.periodUsed, today.periodEndsAtMs], [0n, null]);
    clock.advance(1_000);
    const tomorrow = await bench.summary(keyId);
    assert.deepEqual([tomorrow.used, tomorrow.lastCost, tomorrow.todaySpend], [42n, 12n, 0n]);
    await bench.spend(keyId, 5n);
    assert.equal((await bench.summary(keyId)).todaySpend, 5n);
    await bench.close();
  });

  test('[R53] [R54] token sums: a budget key has no credit figures; input counts cache reads and writes', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(1_000n);
    await bench.spend(keyId, 36n, { usage: usageRecord({ costNanos: 99n }) });
    await bench.spend(keyId, 36n, { usage: usageRecord({ costNanos: 99n }) });
    await bench.hold(keyId, 8n);
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.purchased, summary.used, summary.lastCost, summary.todaySpend], [0n, 0n, 0n, 0n]);
    assert.deepEqual([summary.periodUsed, summary.reserved], [72n, 8n]);
    assert.deepEqual([summary.inputTokens, summary.outputTokens, summary.requests], [32n, 40n, 2]);
    await bench.close();
  });

  test('[R53] a cancelled call is charged, but leaves no usage record', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await bench.spend(keyId, 7n, { usage: usageRecord() });
    await bench.spend(keyId, 5n, { usage: null });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.lastCost, summary.todaySpend], [12n, 5n, 12n]);
    assert.deepEqual([summary.inputTokens, summary.outputTokens, summary.requests], [16n, 20n, 1]);
    await bench.close();
  });

  test('a top-up while calls run is there for the next one', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    await bench.hold(keyId, 10n);
    assert.equal((await bench.admit(keyId, 5n))[1].kind, 'temporarily_held');
    await bench.ledger.addCredit(keyId, 'order-1', 5n, null);
    assert.equal((await bench.admit(keyId, 5n))[1].kind, 'admitted');
    await bench.close();
  });

  test('ping commits', async () => {
    const bench = await Bench.open(open);
    await bench.ledger.ping();
    await bench.ledger.ping();
    await bench.close();
  });
}
