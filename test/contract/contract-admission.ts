import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OperationRunner } from '../../src/ledger/group-commit/group-commit.ts';
import type { Operation } from '../../src/ledger/operations.ts';
import type { AdmitOutcome } from '../../src/ledger/port.ts';
import { StoreError } from '../../src/storage/errors.ts';
import { admitRequest, Bench, type OpenBooks, settleRequest } from './fixtures.ts';

const RATE_ONLY = { hold: null } as const;

export function admissionContract(open: OpenBooks): void {
  test('[R1] a key that is unknown, revoked, suspended, disabled or expired is refused, by the ledger’s clock', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const unknown = await ledger.admit(admitRequest('nobody', randomUUID(), 1n));
    assert.deepEqual(unknown, { kind: 'key_refused', status: 'revoked' });
    for (const status of ['suspended', 'disabled', 'revoked'] as const) {
      const keyId = await bench.creditKey(5n);
      await ledger.changeKey(keyId, { status });
      // The state of the key comes before its version.
      assert.deepEqual((await bench.admit(keyId, 1n))[1], { kind: 'key_refused', status });
    }
    const keyId = await bench.creditKey(5n, { expiresAtMs: clock.nowMs() + 1_000 });
    clock.advance(999);
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'admitted');
    clock.advance(1);
    assert.deepEqual((await bench.admit(keyId, 1n))[1], { kind: 'key_refused', status: 'expired' });
    await bench.close();
  });

  test('a decision by an old copy of the key is sent back with the new one, and neither counted nor held', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(5n, { rpmLimit: 1 });
    await bench.ledger.changeKey(keyId, { models: ['m'] });
    const [, changed] = await bench.admit(keyId, 1n);
    assert.equal(changed.kind, 'key_changed');
    assert.deepEqual(changed.kind === 'key_changed' && changed.key.models, ['m']);
    assert.equal((await bench.summary(keyId)).reserved, 0n);
    assert.equal((await bench.admit(keyId, 1n, { keyVersion: 2 }))[1].kind, 'admitted');
    await bench.close();
  });

  test('[F26] a key revoked while its call runs: the call settles, the next one is refused', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(5n);
    const holdId = await bench.hold(keyId, 3n);
    await bench.ledger.changeKey(keyId, { status: 'revoked' });
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'key_refused');
    assert.deepEqual(await bench.ledger.extend({ holdId, keyId, amount: 4n }), { kind: 'extended', held: 4n });
    assert.deepEqual(await bench.ledger.settle(settleRequest(keyId, holdId, 4n)), { kind: 'settled', charged: 4n });
    await bench.close();
  });

  test('[R11] the wait is exact, a refused request does not count, and the state is told', async () => {
    const bench = await Bench.open(open);
    const { clock } = bench;
    const keyId = await bench.creditKey(100n, { rpmLimit: 2 });
    const [, first] = await bench.admit(keyId, 1n);
    assert.deepEqual(first, { kind: 'admitted', rate: { limit: 2, remaining: 1, resetMs: 60_000 }, held: 1n });
    clock.advance(10_000);
    assert.deepEqual((await bench.admit(keyId, 1n, RATE_ONLY))[1], {
      kind: 'admitted',
      rate: { limit: 2, remaining: 0, resetMs: 60_000 },
      held: 0n,
    });
    clock.advance(20_000);
    for (let i = 0; i < 3; i++) {
      assert.deepEqual((await bench.admit(keyId, 1n))[1], {
        kind: 'rate_limited',
        rate: { limit: 2, remaining: 0, resetMs: 40_000 },
        retryAfterMs: 30_000,
      });
    }
    clock.advance(29_999);
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'rate_limited');
    clock.advance(1);
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'admitted');
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'rate_limited');
    clock.advance(60_000);
    const [, last] = await bench.admit(keyId, 1n);
    assert.deepEqual(last.kind === 'admitted' && last.rate, { limit: 2, remaining: 1, resetMs: 60_000 });
    await bench.close();
  });

  test('[R11] of requests that come at once each is told when the place is free that it waits for', async () => {
    const bench = await Bench.open(open);
    const { clock } = bench;
    const keyId = await bench.creditKey(100n, { rpmLimit: 3 });
    for (let i = 0; i < 3; i++) {
      await bench.admit(keyId, 1n);
      clock.advance(10_000);
    }
    clock.advance(35_000);
    // Places were taken at 0, 10 and 20 s, it is 65 s.
    const outcomes = await Promise.all([1, 2, 3].map(() => bench.admit(keyId, 1n)));
    assert.deepEqual(
      outcomes.map(([, outcome]) => (outcome.kind === 'rate_limited' ? outcome.retryAfterMs : outcome.kind)),
      ['admitted', 5_000, 5_000],
    );
    await bench.close();
  });

  test('[R11] a request that is refused after the rate has counted; without a limit nothing counts', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1n, { rpmLimit: 1 });
    const [, refused] = await bench.admit(keyId, 2n);
    assert.deepEqual(refused, {
      kind: 'insufficient',
      rate: { limit: 1, remaining: 0, resetMs: 60_000 },
      available: 1n,
    });
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'rate_limited');
    const free = await bench.creditKey(1n);
    for (let i = 0; i < 50; i++) {
      assert.deepEqual((await bench.admit(free, 1n, RATE_ONLY))[1], { kind: 'admitted', rate: null, held: 0n });
    }
    await bench.close();
  });

  test('[R11] an admission that is tried again with a smaller hold keeps the place that it has, and takes no second one', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(5n, { rpmLimit: 1 });
    const [holdId, refused] = await bench.admit(keyId, 6n);
    assert.equal(refused.kind, 'insufficient');
    const again = admitRequest(keyId, holdId, 4n, { rateCounted: true });
    assert.deepEqual(await bench.ledger.admit(again), {
      kind: 'admitted',
      rate: { limit: 1, remaining: 0, resetMs: 60_000 },
      held: 4n,
    });
    assert.equal((await bench.admit(keyId, 1n))[1].kind, 'rate_limited');
    await bench.close();
  });

  test('[R11] below a lowered limit the wait is for all that is taken beyond it', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(100n, { rpmLimit: 3 });
    for (let i = 0; i < 3; i++) {
      await bench.admit(keyId, 1n);
      bench.clock.advance(10_000);
    }
    await bench.ledger.changeKey(keyId, { rpmLimit: 2 });
    // Places were taken at 0, 10 and 20 s, it is 30 s: the second has to be old as well.
    const [, refused] = await bench.admit(keyId, 1n, { keyVersion: 2 });
    assert.equal(refused.kind === 'rate_limited' && refused.retryAfterMs, 40_000);
    await bench.close();
  });

  test('[R11] a changed limit counts at once, upward and downward', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const keyId = await bench.creditKey(100n, { rpmLimit: 2 });
    const admitOne = (keyVersion: number) => bench.admit(keyId, 1n, { ...RATE_ONLY, keyVersion });
    await admitOne(1);
    clock.advance(1_000);
    await admitOne(1);
    assert.equal((await admitOne(1))[1].kind, 'rate_limited');
    await ledger.changeKey(keyId, { rpmLimit: 4 });
    clock.advance(1_000);
    assert.equal((await admitOne(2))[1].kind, 'admitted');
    clock.advance(1_000);
    assert.equal((await admitOne(2))[1].kind, 'admitted');
    assert.equal((await admitOne(2))[1].kind, 'rate_limited');
    await ledger.changeKey(keyId, { rpmLimit: 1 });
    // Places were taken at 0, 1, 2 and 3 s, it is 3 s: only when the last one is old does one fit again.
    const [, lowered] = await admitOne(3);
    assert.deepEqual(lowered, {
      kind: 'rate_limited',
      rate: { limit: 1, remaining: 0, resetMs: 60_000 },
      retryAfterMs: 60_000,
    });
    await ledger.changeKey(keyId, { rpmLimit: null });
    assert.deepEqual((await admitOne(4))[1], { kind: 'admitted', rate: null, held: 0n });
    await bench.close();
  });

  test('[R11] never more than the limit in any 60 seconds, and never a needless refusal, over two processes', async () => {
    const bench = await Bench.open(open);
    const ledgers = [bench.ledger, await bench.another()];
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 25_000 }), fc.integer({ min: 1, max: 5 })), { maxLength: 25 }),
        async (limit, steps) => {
          const keyId = await bench.creditKey(1n, { rpmLimit: limit });
          const admittedAtMs: number[] = [];
          for (const [advanceMs, requests] of steps) {
            bench.clock.advance(advanceMs);
            const nowMs = bench.clock.nowMs();
            const outcomes = await Promise.all(
              Array.from({ length: requests }, (_, i) =>
                ledgers[i % 2]?.admit(admitRequest(keyId, randomUUID(), 1n, RATE_ONLY)),
              ),
            );
            const inWindow = admittedAtMs.filter((atMs) => atMs > nowMs - 60_000).length;
            const admitted = outcomes.filter((outcome) => outcome?.kind === 'admitted').length;
            assert.equal(admitted, Math.min(requests, limit - inWindow));
            for (let i = 0; i < admitted; i++) admittedAtMs.push(nowMs);
          }
        },
      ),
      { numRuns: 25, seed: 11 },
    );
    await bench.close();
  });

  test('[F12] 64 parallel requests with balance for one: exactly one is admitted, the others wait', async () => {
    const bench = await Bench.open(open);
    const another = await bench.another();
    const keyId = await bench.creditKey(10n);
    const outcomes: AdmitOutcome[] = await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        (i % 2 === 0 ? bench.ledger : another).admit(admitRequest(keyId, randomUUID(), 10n)),
      ),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'admitted').length, 1);
    assert.equal(outcomes.filter(({ kind }) => kind === 'temporarily_held').length, 63);
    assert.equal((await bench.summary(keyId)).reserved, 10n);
    await bench.close();
  });

  test('[F5] an admission sent again finds its first outcome: no second hold, no second place in the rate', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n, { rpmLimit: 2 });
    const request = admitRequest(keyId, randomUUID(), 10n, { claim: { name: 'retry', fingerprint: 'f' } });
    const first = await bench.ledger.admit(request);
    assert.deepEqual(first, { kind: 'admitted', rate: { limit: 2, remaining: 1, resetMs: 60_000 }, held: 10n });
    assert.deepEqual(await bench.ledger.admit(request), first);
    const together = await Promise.all([bench.ledger.admit(request), bench.ledger.admit(request)]);
    assert.deepEqual(together, [first, first]);
    assert.equal((await bench.summary(keyId)).liveHolds, 1);
    // Also when the hold has been settled meanwhile: it is not opened again.
    await bench.ledger.settle(settleRequest(keyId, request.hold?.id ?? '', 4n));
    assert.deepEqual(await bench.ledger.admit(request), first);
    assert.equal((await bench.summary(keyId)).reserved, 0n);
    await bench.close();
  });

  test('[F5] a hold that its caller knows to be new is admitted like one that may not be, and found when it is sent again', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n, { rpmLimit: 4 });
    const request = admitRequest(keyId, randomUUID(), 6n, { newHold: true });
    const first = await bench.ledger.admit(request);
    assert.deepEqual(first, { kind: 'admitted', rate: { limit: 4, remaining: 3, resetMs: 60_000 }, held: 6n });
    const tooMuch = admitRequest(keyId, randomUUID(), 5n, { newHold: true });
    assert.equal((await bench.ledger.admit(tooMuch)).kind, 'temporarily_held');
    assert.deepEqual(await bench.ledger.admit({ ...request, newHold: false }), {
      ...first,
      rate: { limit: 4, remaining: 2, resetMs: 60_000 },
    });
    const other = admitRequest(keyId, randomUUID(), 4n, { newHold: true });
    const third = admitRequest(keyId, randomUUID(), 1n, { newHold: true });
    const together = await Promise.all([
      bench.ledger.admit(other),
      bench.ledger.settle(settleRequest(keyId, request.hold?.id ?? '', 5n)),
    ]);
    assert.deepEqual(
      together.map(({ kind }) => kind),
      ['admitted', 'settled'],
    );
    assert.equal((await bench.ledger.admit(third)).kind, 'admitted');
    assert.deepEqual(await bench.ledger.admit({ ...other, newHold: false }), {
      kind: 'admitted',
      rate: { limit: 4, remaining: 0, resetMs: 60_000 },
      held: 4n,
    });
    const { reserved, liveHolds, used } = await bench.summary(keyId);
    assert.deepEqual({ reserved, liveHolds, used }, { reserved: 5n, liveHolds: 2, used: 5n });
    await bench.close();
  });

  test('[F5] an admission sent again because its acknowledgement was lost keeps its hold', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const ledger = await bench.another({}, loseFirst('admit'));
    const request = admitRequest(keyId, randomUUID(), 4n);
    await assert.rejects(ledger.admit(request), StoreError);
    assert.equal((await ledger.admit(request)).kind, 'admitted');
    // Longer than anybody waits who gives up what it could not admit.
    for (let second = 0; second < 5; second++) {
      t.mock.timers.tick(1_000);
      await ledger.ping();
    }
    const settled = await ledger.settle(settleRequest(keyId, request.hold?.id ?? '', 3n));
    assert.deepEqual(settled, { kind: 'settled', charged: 3n });
    await bench.close();
  });

  test('[F5] an admission that failed and is not sent again holds nothing for long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const ledger = await bench.another({}, loseFirst('admit'));
    const claim = { name: 'order 7', fingerprint: 'f' };
    await assert.rejects(ledger.admit(admitRequest(keyId, randomUUID(), 10n, { claim })), StoreError);
    assert.equal((await bench.summary(keyId)).reserved, 10n);
    for (let second = 0; second < 5; second++) {
      t.mock.timers.tick(1_000);
      await ledger.ping();
    }
    assert.equal((await bench.summary(keyId)).reserved, 0n);
    assert.equal((await bench.admit(keyId, 10n, { claim }))[1].kind, 'admitted');
    await bench.close();
  });

  for (const [how, end] of [
    ['voided', (keyId: string, holdId: string): Operation => ({ op: 'void', keyId, holdId })],
    [
      'settled',
      (keyId: string, holdId: string): Operation => ({ op: 'settle', request: settleRequest(keyId, holdId, 3n) }),
    ],
  ] as const) {
    test(`[F5] a hold that was ${how} before its admission arrives is not admitted, and nothing of it counts`, async () => {
      const bench = await Bench.open(open);
      const keyId = await bench.creditKey(10n, { rpmLimit: 1 });
      const operations = await bench.connect();
      const holdId = randomUUID();
      const request = admitRequest(keyId, holdId, 10n, { claim: { name: 'order 7', fingerprint: 'f' } });
      const { op } = end(keyId, holdId);
      assert.deepEqual(await operations.run<typeof op>(end(keyId, holdId)), { kind: 'already_voided' });
      for (let times = 0; times < 2; times++) await assert.rejects(bench.ledger.admit(request), /was voided/);
      await assert.rejects(bench.ledger.admit({ ...request, claim: null }), /was voided/);
      assert.deepEqual(await operations.run<typeof op>(end(keyId, holdId)), { kind: 'already_voided' });
      const { reserved, liveHolds } = await bench.summary(keyId);
      assert.deepEqual([reserved, liveHolds], [0n, 0]);
      // Neither the place in the rate limit nor the claim was taken.
      assert.equal((await bench.admit(keyId, 10n, { claim: request.claim }))[1].kind, 'admitted');
      await bench.close();
    });
  }

  test('[F5] a hold that was admitted and voided is not admitted again', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 10n);
    await bench.ledger.void(holdId, keyId);
    await assert.rejects(bench.ledger.admit(admitRequest(keyId, holdId, 10n)), /was voided/);
    assert.equal((await bench.summary(keyId)).reserved, 0n);
    await bench.close();
  });

  test('memory is asked once for each admission', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const asked: string[] = [];
    const ledger = await bench.another({}, (operations) => ({
      ...forwarding(operations),
      now: (operation) => {
        asked.push(operation.op);
        return operations.now(operation);
      },
    }));
    await ledger.register();
    await ledger.admit(admitRequest(keyId, randomUUID(), 1n));
    await ledger.admit(admitRequest(keyId, randomUUID(), 1n, { claim: { name: 'c', fingerprint: 'f' } }));
    assert.deepEqual(asked, ['admit', 'admit']);
    await bench.close();
  });
}

/** The same operations; a class does not spread. */
function forwarding(operations: OperationRunner): OperationRunner {
  return {
    now: (operation) => operations.now(operation),
    run: (operation) => operations.run(operation),
    mark: (mark) => operations.mark(mark),
    stats: () => operations.stats(),
    close: () => operations.close(),
  };
}

/** The first operation of this kind is applied, but its acknowledgement is lost. */
function loseFirst(op: Operation['op']): (operations: OperationRunner) => OperationRunner {
  let lost = false;
  return (operations) => ({
    ...forwarding(operations),
    now: (operation) => (lost ? operations.now(operation) : null),
    run: async (operation) => {
      const outcome = await operations.run(operation);
      if (lost || operation.op !== op) return outcome;
      // What a process that registers at its first admission sends again is another matter.
      if (outcome !== null && 'kind' in outcome && outcome.kind === 'owner_lost') return outcome;
      lost = true;
      throw new StoreError('the acknowledgement was lost');
    },
  });
}
