import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { AMOUNT_MAX } from '../../src/core/money.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { admitRequest, Bench, type OpenBooks, settleRequest } from './fixtures.ts';

const between = (id: string, amountMin: bigint, amount: bigint) => ({
  hold: { id, amount, amountMin, ttlMs: 600_000 },
});

export function balanceContract(open: OpenBooks): void {
  test('[R15] credit: too little is insufficient; too little only because of holds is temporarily held', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    assert.deepEqual((await bench.admit(keyId, 11n))[1], { kind: 'insufficient', rate: null, available: 10n });
    const holdId = await bench.hold(keyId, 6n);
    assert.equal((await bench.admit(keyId, 5n))[1].kind, 'temporarily_held');
    assert.equal((await bench.admit(keyId, 4n))[1].kind, 'admitted');
    // What is reserved does not make it insufficient, what is used does.
    assert.equal((await bench.admit(keyId, 10n))[1].kind, 'temporarily_held');
    await bench.ledger.settle(settleRequest(keyId, holdId, 6n));
    assert.deepEqual((await bench.admit(keyId, 5n))[1], { kind: 'insufficient', rate: null, available: 4n });
    await bench.close();
  });

  test('[R14] a hold shrinks to the balance, not under its minimum, and never because of other holds', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const admit = (id: string, min: bigint, max: bigint) =>
      ledger.admit(admitRequest(keyId, id, max, between(id, min, max)));
    assert.deepEqual(await admit('a', 11n, 20n), { kind: 'insufficient', rate: null, available: 10n });
    assert.deepEqual(await admit('b', 4n, 20n), { kind: 'admitted', rate: null, held: 10n });
    assert.equal((await admit('c', 1n, 2n)).kind, 'temporarily_held');
    await ledger.void('b', keyId);
    await bench.hold(keyId, 3n);
    assert.equal((await admit('d', 1n, 20n)).kind, 'temporarily_held');
    assert.deepEqual(await admit('e', 1n, 7n), { kind: 'admitted', rate: null, held: 7n });
    await bench.close();
  });

  test('[R16] token budget: used up, too small, insufficient and held are told apart', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(1_000n);
    assert.deepEqual((await bench.admit(keyId, 1_001n))[1], { kind: 'insufficient', rate: null, available: 1_000n });
    const holdId = await bench.hold(keyId, 700n);
    assert.equal((await bench.admit(keyId, 301n))[1].kind, 'temporarily_held');
    await bench.ledger.settle(settleRequest(keyId, holdId, 700n));
    assert.deepEqual((await bench.admit(keyId, 301n))[1], { kind: 'insufficient', rate: null, available: 300n });
    await bench.spend(keyId, 45n);
    // 255 are left: what they cannot pay is as good as used up, what they can is served.
    const [, reached] = await bench.admit(keyId, 256n);
    assert.ok(reached.kind === 'limit_reached' && reached.available === 255n);
    await bench.spend(keyId, 255n);
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'limit_reached');
    assert.equal((await bench.admit(keyId, 0n))[1].kind, 'limit_reached');
    await bench.close();
  });

  test('[R16] an operator may lower a budget below what is used, and raise it again', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(1_000n);
    await bench.spend(keyId, 600n);
    const holdId = await bench.hold(keyId, 300n);
    await bench.ledger.changeKey(keyId, { budget: 500n });
    assert.equal((await bench.admit(keyId, 1n, { keyVersion: 2 }))[1].kind, 'limit_reached');
    assert.equal((await bench.ledger.settle(settleRequest(keyId, holdId, 300n))).kind, 'settled');
    await bench.ledger.changeKey(keyId, { budget: 2_000n });
    assert.deepEqual((await bench.admit(keyId, 1_101n, { keyVersion: 3 }))[1], {
      kind: 'insufficient',
      rate: null,
      available: 1_100n,
    });
    await bench.close();
  });

  for (const { period, from, retryAfterMs, next } of [
    { period: 'day', from: '2026-03-10T18:00:00Z', retryAfterMs: 6 * 3_600_000, next: '2026-03-11T00:00:00Z' },
    { period: 'week', from: '2026-03-14T12:00:00Z', retryAfterMs: 36 * 3_600_000, next: '2026-03-16T00:00:00Z' },
    { period: 'month', from: '2028-02-29T23:59:59Z', retryAfterMs: 1_000, next: '2028-03-01T00:00:00Z' },
  ] as const) {
    test(`[R17] a budget per ${period} renews itself at the boundary in UTC, and the wait says when`, async () => {
      const bench = await Bench.open(open, from);
      const keyId = await bench.budgetKey(500n, { period });
      await bench.spend(keyId, 500n);
      assert.deepEqual((await bench.admit(keyId, 1n))[1], {
        kind: 'limit_reached',
        rate: null,
        available: 0n,
        retryAfterMs,
      });
      assert.equal((await bench.summary(keyId)).periodEndsAtMs, Date.parse(next));
      bench.clock.advance(retryAfterMs - 1);
      assert.equal((await bench.admit(keyId, 1n))[1].kind, 'limit_reached');
      bench.clock.advance(1);
      assert.equal((await bench.summary(keyId)).periodUsed, 0n);
      assert.equal((await bench.admit(keyId, 500n))[1].kind, 'admitted');
      await bench.close();
    });
  }

  for (const [period, last, first] of [
    ['day', '2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z'],
    ['day', '2028-02-28T23:59:59.999Z', '2028-02-29T00:00:00.000Z'],
    ['week', '2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00.000Z'],
    ['week', '2027-01-03T23:59:59.999Z', '2027-01-04T00:00:00.000Z'],
    ['month', '2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00.000Z'],
    ['month', '2026-02-28T23:59:59.999Z', '2026-03-01T00:00:00.000Z'],
    ['month', '2026-04-30T23:59:59.999Z', '2026-05-01T00:00:00.000Z'],
    ['month', '2028-02-29T23:59:59.999Z', '2028-03-01T00:00:00.000Z'],
    ['month', '2100-02-28T23:59:59.999Z', '2100-03-01T00:00:00.000Z'],
  ] as const) {
    test(`[R17] a ${period} ends after ${last}, also for what is in flight then`, async () => {
      const bench = await Bench.open(open, last);
      const keyId = await bench.budgetKey(1_000n, { period });
      await bench.spend(keyId, 600n);
      const inFlight = await bench.hold(keyId, 400n);
      assert.equal((await bench.admit(keyId, 300n))[1].kind, 'temporarily_held');
      assert.equal((await bench.summary(keyId)).periodEndsAtMs, Date.parse(first));
      bench.clock.set(first);
      // What is still held counts against the new period, in which it will settle.
      assert.equal((await bench.admit(keyId, 601n))[1].kind, 'temporarily_held');
      const second = await bench.hold(keyId, 600n);
      await bench.ledger.settle(settleRequest(keyId, inFlight, 400n));
      await bench.ledger.settle(settleRequest(keyId, second, 350n));
      assert.equal((await bench.summary(keyId)).periodUsed, 750n);
      await bench.close();
    });
  }

  test('[R17] a budget without a period never renews itself', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(500n, { period: 'none' });
    await bench.spend(keyId, 500n);
    bench.clock.advance(400 * 86_400_000);
    assert.deepEqual((await bench.admit(keyId, 1n))[1], {
      kind: 'limit_reached',
      rate: null,
      available: 0n,
      retryAfterMs: 86_400_000,
    });
    assert.equal((await bench.summary(keyId)).periodEndsAtMs, null);
    await bench.close();
  });

  test('[R17] a call counts in the period in which it settles', async () => {
    const bench = await Bench.open(open, '2026-03-31T23:59:59Z');
    const keyId = await bench.budgetKey(1_000n);
    await bench.spend(keyId, 100n);
    const holdId = await bench.hold(keyId, 400n);
    bench.clock.advance(2_000);
    const before = await bench.summary(keyId);
    assert.deepEqual([before.periodUsed, before.reserved], [0n, 400n]);
    await bench.ledger.settle(settleRequest(keyId, holdId, 300n));
    assert.equal((await bench.summary(keyId)).periodUsed, 300n);
    await bench.close();
  });

  test('[R17] a changed period counts the charges that fall into it', async () => {
    const bench = await Bench.open(open, '2026-03-09T12:00:00Z');
    const keyId = await bench.budgetKey(1_000n, { period: 'day' });
    await bench.spend(keyId, 100n);
    bench.clock.set('2026-03-10T12:00:00Z');
    await bench.spend(keyId, 20n);
    assert.equal((await bench.summary(keyId)).periodUsed, 20n);
    await bench.ledger.changeKey(keyId, { period: 'week' });
    assert.equal((await bench.summary(keyId)).periodUsed, 120n);
    await bench.ledger.changeKey(keyId, { period: 'day' });
    assert.equal((await bench.summary(keyId)).periodUsed, 20n);
    await bench.close();
  });

  test('[R18] the wait for held balance is estimated from how long holds live, and at least a second', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    const first = await bench.hold(keyId, 1n);
    bench.clock.advance(20_000);
    await bench.ledger.settle(settleRequest(keyId, first, 1n));
    await bench.hold(keyId, 99n);
    bench.clock.advance(5_000);
    assert.deepEqual((await bench.admit(keyId, 1n))[1], { kind: 'temporarily_held', rate: null, retryAfterMs: 15_000 });
    bench.clock.advance(60_000);
    assert.deepEqual((await bench.admit(keyId, 1n))[1], { kind: 'temporarily_held', rate: null, retryAfterMs: 1_000 });
    await bench.close();
  });

  test('[R19] a token-budget key without a budget is unlimited', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(null);
    for (let i = 0; i < 3; i++) await bench.spend(keyId, 10n ** 15n);
    await bench.hold(keyId, 10n ** 15n);
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.key.budget, summary.periodUsed, summary.reserved], [null, 3n * 10n ** 15n, 10n ** 15n]);
    assert.equal((await bench.admit(keyId, AMOUNT_MAX))[1].kind, 'insufficient');
    await bench.close();
  });

  test('extend raises a hold to the amount, within the balance and beside other holds', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    for (const keyId of [await bench.creditKey(1_000n), await bench.budgetKey(1_000n)]) {
      const holdId = await bench.hold(keyId, 300n);
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 400n }), { kind: 'extended', held: 400n });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 400n }), { kind: 'extended', held: 400n });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 100n }), { kind: 'extended', held: 400n });
      assert.equal((await bench.summary(keyId)).reserved, 400n);
      await bench.hold(keyId, 500n);
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 501n }), { kind: 'temporarily_held' });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 1_001n }), { kind: 'insufficient' });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 500n }), { kind: 'extended', held: 500n });
      assert.deepEqual(await ledger.settle(settleRequest(keyId, holdId, 500n)), { kind: 'settled', charged: 500n });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 600n }), { kind: 'ended' });
      assert.deepEqual(await ledger.extend({ holdId: 'nothing', keyId, amount: 600n }), { kind: 'ended' });
    }
    const unlimited = await bench.budgetKey(null);
    const holdId = await bench.hold(unlimited, 1n);
    assert.deepEqual(await ledger.extend({ holdId, keyId: unlimited, amount: 10n ** 12n }), {
      kind: 'extended',
      held: 10n ** 12n,
    });
    await bench.close();
  });

  test('[R13] [F47] an extension that will do with less gets as much as is free, and never shrinks the hold', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    for (const keyId of [await bench.creditKey(1_000n), await bench.budgetKey(1_000n)]) {
      const holdId = await bench.hold(keyId, 300n);
      const other = await bench.hold(keyId, 400n);
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 900n, amountMin: 601n }), {
        kind: 'temporarily_held',
      });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 9_000n, amountMin: 1_001n }), {
        kind: 'insufficient',
      });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 500n, amountMin: 400n }), {
        kind: 'extended',
        held: 500n,
      });
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 9_000n, amountMin: 600n }), {
        kind: 'extended',
        held: 600n,
      });
      // Nothing is free any more: whoever takes what there is keeps what it has.
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 900n, amountMin: 0n }), {
        kind: 'extended',
        held: 600n,
      });
      await ledger.settle(settleRequest(keyId, other, 100n));
      assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 1_000n, amountMin: 0n }), {
        kind: 'extended',
        held: 900n,
      });
      assert.deepEqual(await ledger.settle(settleRequest(keyId, holdId, 900n)), { kind: 'settled', charged: 900n });
    }
    const keyId = await bench.budgetKey(1_000n);
    const holdId = await bench.hold(keyId, 300n);
    await ledger.changeKey(keyId, { budget: 100n });
    assert.deepEqual(await ledger.extend({ holdId, keyId, amount: 400n, amountMin: 0n }), {
      kind: 'extended',
      held: 300n,
    });
    await bench.close();
  });

  test('[R13] a hold that must leave room for others of its size is temporarily held where there is none', async () => {
    const bench = await Bench.open(open);
    for (const keyId of [await bench.creditKey(1_000n), await bench.budgetKey(1_000n)]) {
      const leavingRoom = async (amount: bigint): Promise<string> => {
        const { hold, ...request } = admitRequest(keyId, randomUUID(), amount);
        return (await bench.ledger.admit({ ...request, hold: hold && { ...hold, room: 3 } })).kind;
      };
      assert.equal(await leavingRoom(300n), 'temporarily_held');
      assert.equal(await leavingRoom(250n), 'admitted');
      assert.equal(await leavingRoom(250n), 'temporarily_held');
      assert.equal((await bench.admit(keyId, 250n))[1].kind, 'admitted');
      // More than there is stays insufficient.
      assert.equal(await leavingRoom(1_001n), 'insufficient');
    }
    await bench.close();
  });

  test('[R13] where all live holds of a key wait for each other, the youngest gets insufficient and the others wait on', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const other = await bench.another();
    for (const keyId of [await bench.creditKey(900n), await bench.budgetKey(900n)]) {
      const holds: string[] = [];
      for (let held = 0; held < 3; held++) {
        holds.push(await bench.hold(keyId, 300n));
        bench.clock.advance(1);
      }
      const [oldest = '', middle = '', youngest = ''] = holds;
      // While one of them does not wait, its end can be waited for, whichever that is.
      assert.deepEqual(await ledger.extend({ holdId: youngest, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.deepEqual(await other.extend({ holdId: oldest, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.deepEqual(await ledger.extend({ holdId: youngest, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.deepEqual(await other.extend({ holdId: middle, keyId, amount: 400n }), { kind: 'temporarily_held' });
      // Now all wait, and through any process only the youngest is told to end.
      assert.deepEqual(await other.extend({ holdId: oldest, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.deepEqual(await other.extend({ holdId: youngest, keyId, amount: 400n }), { kind: 'insufficient' });
      assert.deepEqual(await ledger.extend({ holdId: youngest, keyId, amount: 400n }), { kind: 'insufficient' });
      assert.deepEqual(await ledger.extend({ holdId: middle, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.equal((await bench.summary(keyId)).reserved, 900n);
      await ledger.settle(settleRequest(keyId, youngest, 200n));
      assert.deepEqual(await ledger.extend({ holdId: oldest, keyId, amount: 400n }), { kind: 'extended', held: 400n });
      // The oldest does not wait any more, so the youngest of the two that are left may wait for it.
      assert.deepEqual(await other.extend({ holdId: middle, keyId, amount: 400n }), { kind: 'temporarily_held' });
      assert.deepEqual(await other.extend({ holdId: oldest, keyId, amount: 500n }), { kind: 'temporarily_held' });
      assert.deepEqual(await other.extend({ holdId: middle, keyId, amount: 400n }), { kind: 'insufficient' });
      await ledger.void(middle, keyId);
      assert.deepEqual(await other.extend({ holdId: oldest, keyId, amount: 700n }), { kind: 'extended', held: 700n });
      await ledger.settle(settleRequest(keyId, oldest, 700n));
    }
    await bench.close();
  });

  test('[R13] a hold that does not grow any more is waited for: its wait ends with an extension, also one to what it has', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(100n);
    const older = await bench.hold(keyId, 50n);
    bench.clock.advance(1);
    const younger = await bench.hold(keyId, 50n);
    assert.deepEqual(await ledger.extend({ holdId: older, keyId, amount: 60n }), { kind: 'temporarily_held' });
    assert.deepEqual(await ledger.extend({ holdId: older, keyId, amount: 50n }), { kind: 'extended', held: 50n });
    assert.deepEqual(await ledger.extend({ holdId: younger, keyId, amount: 60n }), { kind: 'temporarily_held' });
    // One that asks for more than the key has will end, so it does not wait either.
    assert.deepEqual(await ledger.extend({ holdId: older, keyId, amount: 60n }), { kind: 'temporarily_held' });
    assert.deepEqual(await ledger.extend({ holdId: older, keyId, amount: 101n }), { kind: 'insufficient' });
    assert.deepEqual(await ledger.extend({ holdId: younger, keyId, amount: 60n }), { kind: 'temporarily_held' });
    assert.deepEqual(await ledger.extend({ holdId: older, keyId, amount: 60n }), { kind: 'temporarily_held' });
    // A new hold does not wait, whoever else does.
    await ledger.settle(settleRequest(keyId, older, 0n));
    const newest = await bench.hold(keyId, 50n);
    assert.deepEqual(await ledger.extend({ holdId: younger, keyId, amount: 60n }), { kind: 'temporarily_held' });
    await ledger.void(newest, keyId);
    assert.deepEqual(await ledger.extend({ holdId: younger, keyId, amount: 60n }), { kind: 'extended', held: 60n });
    await bench.close();
  });

  test('[R56] amounts out of range are refused as an error and change nothing', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(AMOUNT_MAX);
    for (const [min, max] of [
      [-1n, 5n],
      [6n, 5n],
      [1n, AMOUNT_MAX + 1n],
    ] as const) {
      await assert.rejects(ledger.admit(admitRequest(keyId, 'x', max, between('x', min, max))), StoreError);
    }
    const holdId = await bench.hold(keyId, AMOUNT_MAX);
    await assert.rejects(ledger.settle(settleRequest(keyId, holdId, -1n)), StoreError);
    assert.equal((await bench.summary(keyId)).reserved, AMOUNT_MAX);
    assert.deepEqual(await ledger.settle(settleRequest(keyId, holdId, AMOUNT_MAX)), {
      kind: 'settled',
      charged: AMOUNT_MAX,
    });
    assert.equal((await bench.summary(keyId)).used, AMOUNT_MAX);
    await bench.close();
  });
}
