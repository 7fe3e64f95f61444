import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { OwnedLedger } from '../../src/ledger/ledger.ts';
import { recoverAll } from '../../src/ledger/maintenance.ts';
import type { NewRun, RunEnd, RunEvents } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, type OpenBooks, settleRequest } from './fixtures.ts';

const LEASE_MS = 10_000;
const HOUR_MS = 3_600_000;
const KEEP_MS = 24 * HOUR_MS;
const TOKENS = { input: 4, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 2, reasoning: 0 };

function newRun(id: string, change: Partial<NewRun> = {}): NewRun {
  return { id, response: `{"id":"${id}"}`, input: null, keepMs: KEEP_MS, keyBytesMax: 1_000_000, ...change };
}

function events(first: number, last: number, text = `events ${first} to ${last}`): RunEvents {
  return { first, last, frames: Buffer.from(text) };
}

function completed(id: string, ...all: RunEvents[]): RunEnd {
  return { id, status: 'completed', events: all };
}

interface Begun {
  readonly holdId: string;
  readonly kind: string;
}

async function begin(ledger: OwnedLedger, keyId: string, run: NewRun, claim: string | null = null): Promise<Begun> {
  const holdId = randomUUID();
  const asked = admitRequest(keyId, holdId, 2n, claim === null ? {} : { claim: { name: claim, fingerprint: 'f' } });
  assert.ok(asked.hold);
  const { kind } = await ledger.admit({ ...asked, hold: { ...asked.hold, ttlMs: HOUR_MS, run } });
  return { holdId, kind };
}

async function read(ledger: OwnedLedger, keyId: string, id: string, after = -1, bytesMax = 1_000_000) {
  const found = await ledger.readRun(keyId, id, after, bytesMax);
  return (found?.events ?? []).map(({ first, last, frames }) => [first, last, Buffer.from(frames).toString()]);
}

export function runContract(open: OpenBooks): void {
  test('[R76] [R77] a run of twenty minutes: its events in their order, its end together with its one charge', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const owner = await bench.another({ leaseMs: LEASE_MS });
    const { holdId } = await begin(owner, keyId, newRun('resp_1'));
    const expected: unknown[] = [];
    for (let minute = 0; minute < 20; minute++) {
      for (let beat = 0; beat < 12; beat++) {
        bench.clock.advance(5_000);
        await owner.heartbeat();
        await recoverAll(bench.ledger);
      }
      const next = events(minute * 10, minute * 10 + 9);
      assert.deepEqual(await owner.appendRuns([{ keyId, id: 'resp_1', events: next }]), ['running']);
      // Sent again after its acknowledgement was lost.
      assert.deepEqual(await owner.appendRuns([{ keyId, id: 'resp_1', events: next }]), ['running']);
      expected.push([next.first, next.last, `events ${next.first} to ${next.last}`]);
      assert.deepEqual(await read(bench.ledger, keyId, 'resp_1'), expected, 'another process reads the same');
    }
    const live = await bench.ledger.findRun(keyId, { id: 'resp_1' });
    assert.deepEqual(live, {
      id: 'resp_1',
      status: 'in_progress',
      cancelled: false,
      lastEvent: 199,
      response: '{"id":"resp_1"}',
    });
    const end = completed('resp_1', events(200, 204), events(205, 205, 'the end'));
    const settled = settleRequest(keyId, holdId, 1n, { run: end });
    assert.deepEqual(await owner.settle(settled), { kind: 'settled', charged: 1n });
    assert.deepEqual(await owner.settle(settled), { kind: 'already_settled', charged: 1n });
    const over = await bench.ledger.findRun(keyId, { id: 'resp_1' });
    assert.deepEqual([over?.status, over?.lastEvent], ['completed', 205]);
    assert.deepEqual(await read(bench.ledger, keyId, 'resp_1', 199), [
      [200, 204, 'events 200 to 204'],
      [205, 205, 'the end'],
    ]);
    assert.equal((await read(bench.ledger, keyId, 'resp_1', -1, 1)).length, 1, 'no more than was asked for');
    assert.deepEqual(await owner.appendRuns([{ keyId, id: 'resp_1', events: events(206, 206) }]), ['ended']);
    assert.equal((await bench.summary(keyId)).used, 1n);
    await bench.close();
  });

  test('[R77] [F54] a run whose process died is lost with its hold, charged by its last mark, and its process hears of it', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const dying = await bench.another({ leaseMs: LEASE_MS });
    const marked = await begin(dying, keyId, newRun('resp_marked'), 'claim');
    await begin(dying, keyId, newRun('resp_unmarked'), 'other claim');
    const neighbourId = await bench.creditKey(10n);
    await begin(dying, neighbourId, newRun('resp_neighbour'));
    await dying.appendRuns([{ keyId, id: 'resp_marked', events: events(0, 4) }]);
    dying.mark({ holdId: marked.holdId, keyId, charge: 1n, tokens: TOKENS });
    await dying.ping();
    bench.clock.advance(LEASE_MS);
    await recoverAll(bench.ledger);
    for (const name of [{ id: 'resp_marked' }, { claim: 'claim' }, { id: 'resp_unmarked' }, { claim: 'other claim' }]) {
      assert.equal((await bench.ledger.findRun(keyId, name))?.status, 'lost');
    }
    assert.equal((await bench.ledger.findRun(neighbourId, { id: 'resp_neighbour' }))?.status, 'lost');
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved, summary.liveHolds], [1n, 0n, 0]);
    // It wakes up, and can neither go on nor end it once more.
    const late = completed('resp_marked', events(5, 5));
    assert.deepEqual(await dying.appendRuns([{ keyId, id: 'resp_marked', events: events(5, 5) }]), ['ended']);
    await dying.settle(settleRequest(keyId, marked.holdId, 2n, { run: late }));
    await dying.endRun(keyId, late);
    const lost = await bench.ledger.findRun(keyId, { id: 'resp_marked' });
    assert.deepEqual([lost?.status, lost?.lastEvent], ['lost', 4]);
    assert.equal((await bench.summary(keyId)).used, 1n);
    // The claim leads to the run, whether or not it was charged.
    for (const claim of ['claim', 'other claim']) {
      assert.equal((await begin(bench.ledger, keyId, newRun('resp_again'), claim)).kind, 'conflict');
    }
    assert.deepEqual((await bench.ledger.audit()).findings, []);
    await bench.close();
  });

  test('[R76] a run that is not charged ends before its hold, and its claim still leads to it', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const { holdId } = await begin(bench.ledger, keyId, newRun('resp_1'), 'claim');
    await bench.ledger.endRun(keyId, { id: 'resp_1', status: 'failed', events: [events(0, 0)] });
    await recoverAll(bench.ledger);
    await bench.ledger.void(holdId, keyId);
    assert.equal((await bench.ledger.findRun(keyId, { claim: 'claim' }))?.status, 'failed');
    assert.equal((await begin(bench.ledger, keyId, newRun('resp_2'), 'claim')).kind, 'conflict');
    assert.equal((await bench.summary(keyId)).used, 0n);
    await bench.close();
  });

  test('[R78] a run is asked to end by whoever has its key, until it has ended; then it can be deleted', async () => {
    const bench = await Bench.open(open);
    const [keyId, other] = [await bench.creditKey(10n), await bench.creditKey(10n)];
    const { holdId } = await begin(bench.ledger, keyId, newRun('resp_1'));
    assert.equal(await bench.ledger.cancelRun(other, 'resp_1'), null);
    assert.equal(await bench.ledger.findRun(other, { id: 'resp_1' }), null);
    assert.deepEqual(await read(bench.ledger, other, 'resp_1'), []);
    assert.equal((await bench.ledger.cancelRun(keyId, 'resp_1'))?.cancelled, true);
    assert.deepEqual(await bench.ledger.appendRuns([{ keyId, id: 'resp_1', events: null }]), ['cancelled']);
    assert.deepEqual(await bench.ledger.deleteRun(keyId, 'resp_1'), { kind: 'unknown' }, 'it lives');
    const end: RunEnd = { id: 'resp_1', status: 'cancelled', events: [events(0, 0)] };
    await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { run: end }));
    assert.equal((await bench.ledger.cancelRun(keyId, 'resp_1'))?.status, 'cancelled');
    assert.deepEqual(await bench.ledger.deleteRun(keyId, 'resp_1'), { kind: 'deleted' });
    assert.deepEqual(await read(bench.ledger, keyId, 'resp_1'), []);
    await bench.close();
  });

  test('[R76] no more runs at a time than the key and its accounts allow', async () => {
    const bench = await Bench.open(open);
    const org = newAccount({ runsLimit: 3 });
    await bench.ledger.createAccount(org);
    await bench.ledger.addAccountCredit(org.id, 'first', 1_000n, null);
    const alone = await bench.creditKey(1_000n, { runsLimit: 2 });
    const one = await bench.creditKey(0n, { accountId: org.id, runsLimit: 2 });
    const two = await bench.creditKey(0n, { accountId: org.id });
    let count = 0;
    const kinds = async (keyId: string, runs: number) =>
      Promise.all(
        Array.from({ length: runs }, async () => (await begin(bench.ledger, keyId, newRun(`resp_${count++}`))).kind),
      );
    const of = (admitted: number, refused: number) => [
      ...Array<string>(admitted).fill('admitted'),
      ...Array<string>(refused).fill('runs_limited'),
    ];
    assert.deepEqual((await kinds(alone, 4)).sort(), of(2, 2));
    assert.deepEqual((await kinds(one, 4)).sort(), of(2, 2));
    assert.deepEqual((await kinds(two, 4)).sort(), of(1, 3));
    // What is no run is not counted, and not refused.
    assert.equal((await bench.admit(alone, 1n))[1].kind, 'admitted');
    const { rate: _, ...refused } = (await bench.ledger.admit({
      ...admitRequest(two, randomUUID(), 1n),
      hold: { id: randomUUID(), amount: 1n, amountMin: 1n, ttlMs: 1_000, run: newRun('resp_x') },
    })) as { rate: unknown };
    assert.deepEqual(refused, { kind: 'runs_limited', account: true, retryAfterMs: 1_000, tooLarge: false });
    await bench.close();
  });

  test('[R77] runs are kept after their end as long as they say, and the oldest leave where a key has too much', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n);
    const make = async (id: string): Promise<void> => {
      const { holdId } = await begin(bench.ledger, keyId, newRun(id, { keyBytesMax: 250 }));
      const end = completed(id, events(0, 9, 'x'.repeat(100)));
      await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { run: end }));
      bench.clock.advance(1_000);
    };
    const kept = async (): Promise<readonly string[]> => {
      const ids = [];
      for (const id of ['a', 'b', 'c', 'd']) if (await bench.ledger.findRun(keyId, { id })) ids.push(id);
      return ids;
    };
    for (const id of ['a', 'b', 'c', 'd']) await make(id);
    assert.deepEqual(await kept(), ['b', 'c', 'd']);
    bench.clock.advance(KEEP_MS - 3_000);
    assert.deepEqual(await kept(), ['c', 'd']);
    assert.equal((await bench.ledger.prune(null)).removed > 0, true);
    bench.clock.advance(HOUR_MS);
    assert.deepEqual(await kept(), []);
    await bench.close();
  });

  test('[R77] what a key has of ended runs is counted through deletion, expiry and loss', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(1_000n);
    const start = (id: string) => begin(bench.ledger, keyId, newRun(id, { keyBytesMax: 250 }));
    const make = async (id: string): Promise<void> => {
      const { holdId } = await start(id);
      const end = completed(id, events(0, 9, 'x'.repeat(100)));
      await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { run: end }));
      bench.clock.advance(1_000);
    };
    const isKept = async (id: string): Promise<boolean> => (await bench.ledger.findRun(keyId, { id })) !== null;
    for (const id of ['a', 'b']) await make(id);
    await bench.ledger.deleteRun(keyId, 'a');
    for (const id of ['c', 'd']) await make(id);
    // 300 bytes have ended: b leaves with the next.
    assert.deepEqual([await isKept('b'), await isKept('c')], [true, true]);
    await start('e');
    assert.deepEqual([await isKept('b'), await isKept('c'), await isKept('d')], [false, true, true]);
    bench.clock.advance(2 * KEEP_MS);
    // Its hold has expired, and e is lost with it.
    await bench.ledger.recover();
    await bench.ledger.prune(null);
    for (const id of ['f', 'g']) await make(id);
    await start('h');
    assert.deepEqual([await isKept('f'), await isKept('g')], [true, true]);
    await bench.close();
  });
}
