import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { OwnedLedger } from '../../src/ledger/ledger.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import { admitRequest, Bench, type OpenBooks, settleRequest, usageRecord } from './fixtures.ts';

const TOKENS = { input: 4, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2, reasoning: 0 };
const CLAIM = { claim: { name: 'order 7', fingerprint: 'f' } };
const LEASE_MS = 10_000;
const HOUR_MS = 3_600_000;

async function holdBy(ledger: OwnedLedger, keyId: string, amount: bigint, change = {}): Promise<string> {
  const holdId = randomUUID();
  const outcome = await ledger.admit(admitRequest(keyId, holdId, amount, change));
  assert.equal(outcome.kind, 'admitted');
  return holdId;
}

export function recoveryContract(open: OpenBooks): void {
  test('[F1] the hold of a dead process without a mark is voided, and its claim is free', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const dying = await bench.another({ leaseMs: LEASE_MS });
    await holdBy(dying, keyId, 10n, CLAIM);
    bench.clock.advance(LEASE_MS - 1);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    bench.clock.advance(1);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 1, more: false });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved, summary.liveHolds], [0n, 0n, 0]);
    assert.equal((await bench.admit(keyId, 10n, CLAIM))[1].kind, 'admitted');
    await bench.close();
  });

  test('[F2] [F3] what a dead process marked last is charged once and flagged, the rest released', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const dying = await bench.another({ leaseMs: LEASE_MS });
    const holdId = await holdBy(dying, keyId, 10n, CLAIM);
    dying.mark({ holdId, keyId, charge: 2n, tokens: TOKENS });
    dying.mark({ holdId, keyId, charge: 3n, tokens: TOKENS });
    await dying.ping();
    bench.clock.advance(LEASE_MS);
    assert.deepEqual(await bench.ledger.recover(), { charged: 1, voided: 0, more: false });
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved, summary.lastCost], [3n, 0n, 3n]);
    assert.deepEqual([summary.inputTokens, summary.outputTokens, summary.requests], [4n, 2n, 1]);
    const { flagged, flaggedCharges } = await bench.ledger.audit();
    assert.equal(flagged, 1);
    const at = new Date(bench.clock.nowMs()).toISOString();
    assert.deepEqual(flaggedCharges, [`${at} ${holdId} of ${keyId}: recovered`]);
    assert.deepEqual((await bench.admit(keyId, 1n, CLAIM))[1], {
      kind: 'conflict',
      rate: null,
      reason: 'charged_incomplete',
    });
    await bench.close();
  });

  test('[F10] a process that wakes up after its lease finds its holds ended, and nothing is applied twice', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    const frozen = await bench.another({ leaseMs: LEASE_MS });
    const marked = await holdBy(frozen, keyId, 10n);
    const unmarked = await holdBy(frozen, keyId, 10n);
    frozen.mark({ holdId: marked, keyId, charge: 4n, tokens: TOKENS });
    await frozen.ping();
    bench.clock.advance(LEASE_MS);
    await recoverAll(bench.ledger);

    assert.deepEqual(await frozen.settle(settleRequest(keyId, marked, 9n)), { kind: 'already_settled', charged: 4n });
    assert.deepEqual(await frozen.settle(settleRequest(keyId, unmarked, 9n)), { kind: 'already_voided' });
    assert.deepEqual(await frozen.void(marked, keyId), { kind: 'already_settled', charged: 4n });
    assert.deepEqual(await frozen.extend({ holdId: marked, keyId, amount: 20n }), { kind: 'ended' });
    frozen.mark({ holdId: marked, keyId, charge: 10n, tokens: TOKENS });
    await frozen.ping();
    // It registers anew and goes on working.
    const holdId = await holdBy(frozen, keyId, 10n);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    assert.deepEqual(await frozen.settle(settleRequest(keyId, holdId, 9n)), { kind: 'settled', charged: 9n });
    assert.equal((await bench.summary(keyId)).used, 13n);
    await bench.close();
  });

  test('heartbeats keep a process and its holds alive; a lost lease is taken up anew', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    const living = await bench.another({ leaseMs: LEASE_MS });
    await living.register();
    const holdId = await holdBy(living, keyId, 10n);
    for (let i = 0; i < 5; i++) {
      bench.clock.advance(LEASE_MS - 1);
      assert.equal(await living.heartbeat(), i === 0 ? 0 : LEASE_MS - 1);
      assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    }
    bench.clock.advance(LEASE_MS);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 1, more: false });
    assert.equal(await living.heartbeat(), Number.POSITIVE_INFINITY);
    assert.deepEqual(await living.settle(settleRequest(keyId, holdId, 1n)), { kind: 'already_voided' });
    await holdBy(living, keyId, 10n);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    await bench.close();
  });

  test('[F10] a heartbeat or a registration that arrives late does not shorten a lease', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const living = await bench.connect();
    const request = admitRequest(keyId, randomUUID(), 10n);
    await living.run<'registerOwner'>({ op: 'registerOwner', owner: 'living', leaseMs: LEASE_MS });
    assert.equal((await living.run<'admit'>({ op: 'admit', owner: 'living', request })).kind, 'admitted');
    bench.clock.advance(8_000);
    await living.run<'heartbeat'>({ op: 'heartbeat', owner: 'living', leaseMs: LEASE_MS });
    // Decided at a time before that, as by a server process that was stopped in between.
    bench.clock.advance(-6_000);
    const late = await bench.connect();
    await late.run<'heartbeat'>({ op: 'heartbeat', owner: 'living', leaseMs: LEASE_MS });
    await late.run<'registerOwner'>({ op: 'registerOwner', owner: 'living', leaseMs: LEASE_MS });
    bench.clock.advance(6_000 + LEASE_MS - 1);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    bench.clock.advance(1);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 1, more: false });
    await bench.close();
  });

  test('[F2] a mark that arrives after a newer one changes nothing', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const operations = await bench.connect();
    const request = admitRequest(keyId, randomUUID(), 10n);
    const holdId = request.hold?.id ?? '';
    const mark = (number: number, charge: bigint) =>
      operations.run<'mark'>({ op: 'mark', number, marks: [{ holdId, keyId, charge, tokens: TOKENS }] });
    await operations.run<'registerOwner'>({ op: 'registerOwner', owner: 'dying', leaseMs: LEASE_MS });
    await operations.run<'admit'>({ op: 'admit', owner: 'dying', request });
    for (const [number, charge] of [
      [1, 2n],
      [3, 5n],
      [2, 3n],
    ] as const)
      await mark(number, charge);
    bench.clock.advance(LEASE_MS);
    await recoverAll(bench.ledger);
    assert.equal((await bench.summary(keyId)).used, 5n);
    await bench.close();
  });

  test('[F11] a hold ends by itself at its expiry, not before, though its process lives', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.budgetKey(100n);
    const living = await bench.another({ leaseMs: 10 ** 9 });
    const marked = await holdBy(living, keyId, 40n);
    await holdBy(living, keyId, 40n);
    living.mark({ holdId: marked, keyId, charge: 6n, tokens: TOKENS });
    await living.ping();
    bench.clock.advance(599_999);
    assert.deepEqual(await bench.ledger.recover(), { charged: 0, voided: 0, more: false });
    bench.clock.advance(1);
    assert.deepEqual(await bench.ledger.recover(), { charged: 1, voided: 1, more: false });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.periodUsed, summary.reserved, summary.requests], [6n, 0n, 1]);
    await bench.close();
  });

  test('[F50] a clock that jumps ahead ends keys, promotional credit and budget periods at once', async () => {
    const bench = await Bench.open(open);
    const { clock, ledger } = bench;
    const inAnHour = clock.nowMs() + HOUR_MS;
    const expiring = await bench.creditKey(10n, { expiresAtMs: inAnHour });
    const promoted = await bench.creditKey(0n);
    await ledger.addCredit(promoted, 'welcome', 10n, null, { expiresAtMs: inAnHour });
    const daily = await bench.budgetKey(1_000n, { period: 'day' });
    await bench.spend(daily, 1_000n);
    assert.equal((await bench.admit(daily, 1_000n))[1].kind, 'limit_reached');
    clock.jump(24 * HOUR_MS);
    assert.deepEqual((await bench.admit(expiring, 1n))[1], { kind: 'key_refused', status: 'expired' });
    assert.equal((await bench.admit(promoted, 1n))[1].kind, 'insufficient');
    assert.equal((await bench.summary(promoted)).purchased, 0n);
    assert.equal((await bench.admit(daily, 1_000n))[1].kind, 'admitted');
    await bench.close();
  });

  test('[F11] the ledger’s time never runs backwards while it runs', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n, { rpmLimit: 1, expiresAtMs: bench.clock.nowMs() + 1_000 });
    const limited = await bench.creditKey(10n, { rpmLimit: 1 });
    bench.clock.advance(1_000);
    await bench.hold(limited, 1n);
    bench.clock.advance(-3_600_000);
    assert.deepEqual((await bench.admit(keyId, 1n))[1], { kind: 'key_refused', status: 'expired' });
    const [, refused] = await bench.admit(limited, 1n);
    assert.equal(refused.kind === 'rate_limited' && refused.retryAfterMs, 60_000);
    await bench.close();
  });

  test('a mark beyond the hold charges the hold, and one for an unknown hold says nothing', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const dying = await bench.another({ leaseMs: LEASE_MS });
    const holdId = await holdBy(dying, keyId, 5n);
    dying.mark({ holdId, keyId, charge: 50n, tokens: TOKENS });
    dying.mark({ holdId: 'nothing', keyId, charge: 50n, tokens: TOKENS });
    dying.mark({ holdId: 'nothing', keyId: 'nobody', charge: 50n, tokens: TOKENS });
    await dying.ping();
    bench.clock.advance(LEASE_MS);
    await recoverAll(bench.ledger);
    assert.equal((await bench.summary(keyId)).used, 5n);
    await bench.close();
  });

  test('recovery goes in bounded steps until nothing is left', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n);
    const dying = await bench.another({ leaseMs: LEASE_MS });
    await dying.register();
    await Promise.all(Array.from({ length: 450 }, () => holdBy(dying, keyId, 1n)));
    bench.clock.advance(LEASE_MS);
    const first = await bench.ledger.recover();
    assert.equal(first.more, true);
    await recoverAll(bench.ledger);
    assert.equal((await bench.summary(keyId)).liveHolds, 0);
    await bench.close();
  });

  test('pruning removes only what nothing asks for any more, and sums stay', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n, { rpmLimit: 10 });
    const claimed = await bench.hold(keyId, 5n, CLAIM);
    await bench.ledger.settle(settleRequest(keyId, claimed, 5n));
    const voided = await bench.hold(keyId, 5n);
    await bench.ledger.void(voided, keyId);
    assert.deepEqual(await bench.ledger.prune(null), { removed: 0, more: false });
    bench.clock.advance(60_000);
    // Rates are kept one by one or in runs.
    const { removed } = await bench.ledger.prune(null);
    assert.ok(removed === 1 || removed === 2, String(removed));
    bench.clock.advance(8 * 86_400_000);
    assert.deepEqual(await bench.ledger.prune(null), { removed: 2, more: false });
    assert.deepEqual(await bench.ledger.prune(null), { removed: 0, more: false });
    assert.deepEqual(await bench.ledger.settle(settleRequest(keyId, claimed, 5n)), {
      kind: 'already_settled',
      charged: 5n,
    });
    assert.equal((await bench.summary(keyId)).used, 5n);
    await bench.close();
  });

  test('usage records are pruned by age where the operator wants it, and their sums stay', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n);
    await bench.spend(keyId, 5n, { usage: usageRecord() });
    bench.clock.advance(2_000);
    await bench.spend(keyId, 5n, { usage: usageRecord() });
    assert.deepEqual(await bench.ledger.prune(null), { removed: 0, more: false });
    // Not before the reports have it for good.
    assert.deepEqual(await bench.ledger.prune(2_000), { removed: 0, more: false });
    assert.deepEqual(await bench.ledger.rollUp(), { charges: 2, more: false });
    assert.deepEqual(await bench.ledger.prune(null), { removed: 0, more: false });
    assert.deepEqual(await bench.ledger.prune(2_000), { removed: 1, more: false });
    assert.deepEqual(await bench.ledger.prune(2_000), { removed: 0, more: false });
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.inputTokens, summary.outputTokens, summary.requests], [32n, 40n, 2]);
    await bench.close();
  });
}
