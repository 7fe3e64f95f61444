import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredReply } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks, settleRequest } from './fixtures.ts';

const CLAIM = { claim: { name: 'order 7', fingerprint: 'f1' } };
const OTHER = { claim: { name: 'order 7', fingerprint: 'f2' } };
const HOUR_MS = 3_600_000;

function reply(text: string): StoredReply {
  return { status: 200, contentType: 'text/event-stream', body: new Uint8Array(Buffer.from(text)) };
}

export function claimContract(open: OpenBooks): void {
  test('[R21] a repeat of a finished call gets its stored bytes, at no charge', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 4n, CLAIM);
    // A part of a larger buffer, as it comes off a socket.
    const body = Buffer.from('before data: {}\n\n\0ü after').subarray(7, 18);
    await bench.ledger.settle(settleRequest(keyId, holdId, 3n, { reply: { ...reply(''), body } }));
    const [, repeat] = await bench.admit(keyId, 4n, CLAIM);
    assert.equal(repeat.kind, 'replay');
    if (repeat.kind === 'replay') {
      assert.deepEqual(Buffer.from(repeat.reply.body), Buffer.from(body));
      assert.deepEqual([repeat.reply.status, repeat.reply.contentType], [200, 'text/event-stream']);
    }
    const summary = await bench.summary(keyId);
    assert.deepEqual([summary.used, summary.reserved], [3n, 0n]);
    // An empty reply is a reply.
    const empty = await bench.hold(keyId, 1n, { claim: { name: 'empty', fingerprint: 'f' } });
    await bench.ledger.settle(settleRequest(keyId, empty, 0n, { reply: reply('') }));
    const [, again] = await bench.admit(keyId, 1n, { claim: { name: 'empty', fingerprint: 'f' } });
    assert.equal(again.kind === 'replay' && again.reply.body.byteLength, 0);
    await bench.close();
  });

  test('[R22] [R23] [F21] while a call runs, the same request is in flight and another one a conflict', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => bench.admit(keyId, 1n, CLAIM)));
    const kinds = outcomes.map(([, { kind }]) => kind).sort();
    assert.deepEqual(kinds, ['admitted', ...Array<string>(7).fill('in_flight')]);
    assert.deepEqual((await bench.admit(keyId, 1n, OTHER))[1], {
      kind: 'conflict',
      rate: null,
      reason: 'other_request',
    });
    assert.equal((await bench.summary(keyId)).liveHolds, 1);
    await bench.close();
  });

  test('[R20] [F21] claims belong to their key: the same name of another key is independent', async () => {
    const bench = await Bench.open(open);
    const [one, two] = [await bench.creditKey(10n), await bench.creditKey(10n)];
    const holdId = await bench.hold(one, 1n, CLAIM);
    await bench.ledger.settle(settleRequest(one, holdId, 1n, { reply: reply('one') }));
    await bench.hold(two, 1n, OTHER);
    assert.equal((await bench.admit(one, 1n, CLAIM))[1].kind, 'replay');
    assert.equal((await bench.admit(two, 1n, OTHER))[1].kind, 'in_flight');
    await bench.close();
  });

  test('[R23] another request under a finished call’s claim is a conflict', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 1n, CLAIM);
    await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { reply: reply('one') }));
    assert.deepEqual((await bench.admit(keyId, 1n, OTHER))[1], {
      kind: 'conflict',
      rate: null,
      reason: 'other_request',
    });
    await bench.close();
  });

  test('[R24] without a charge the claim is free again; charged but not completed it is a conflict', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const first = await bench.hold(keyId, 1n, CLAIM);
    await bench.ledger.void(first, keyId);
    const second = await bench.hold(keyId, 1n, OTHER);
    await bench.ledger.settle(settleRequest(keyId, second, 1n));
    assert.deepEqual((await bench.admit(keyId, 1n, OTHER))[1], {
      kind: 'conflict',
      rate: null,
      reason: 'charged_incomplete',
    });
    await bench.close();
  });

  test('[R25] a reply that was too large to store is a conflict that says so', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 1n, CLAIM);
    await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { noReplyReason: 'reply_not_stored' }));
    assert.deepEqual((await bench.admit(keyId, 1n, CLAIM))[1], {
      kind: 'conflict',
      rate: null,
      reason: 'reply_not_stored',
    });
    await bench.close();
  });

  test('[R20] a claim is kept for 24 hours after its end, not after its begin', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const holdId = await bench.hold(keyId, 1n, CLAIM);
    bench.clock.advance(HOUR_MS);
    await bench.ledger.settle(settleRequest(keyId, holdId, 1n, { reply: reply('one') }));
    bench.clock.advance(24 * HOUR_MS - 1);
    assert.equal((await bench.admit(keyId, 1n, CLAIM))[1].kind, 'replay');
    bench.clock.advance(1);
    assert.equal((await bench.admit(keyId, 1n, OTHER))[1].kind, 'admitted');
    await bench.close();
  });

  test('a refused balance leaves no claim behind, and a claim is looked at before the balance', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    assert.equal((await bench.admit(keyId, 11n, CLAIM))[1].kind, 'insufficient');
    const holdId = await bench.hold(keyId, 10n, OTHER);
    assert.equal(
      (await bench.admit(keyId, 1n, { claim: { name: 'held', fingerprint: 'f' } }))[1].kind,
      'temporarily_held',
    );
    await bench.ledger.settle(settleRequest(keyId, holdId, 10n, { reply: reply('all') }));
    assert.equal((await bench.admit(keyId, 1n, OTHER))[1].kind, 'replay');
    assert.equal((await bench.admit(keyId, 1n, CLAIM))[1].kind, 'conflict');
    await bench.close();
  });

  test('[R75] a repeat is asked for its place in requests per minute and for no other limit, at no level', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const org = newAccount({ rpmLimit: 5, tpmLimit: 100, parallelLimit: 1 });
    await ledger.createAccount(org);
    await ledger.addAccountCredit(org.id, 'invoice', 10n, null);
    const limits = { rpmLimit: 5, tpmLimit: 100, parallelLimit: 1 };
    const { id: below } = await ledger.createKey(newKey({ accountId: org.id, ...limits }));
    for (const keyId of [await bench.creditKey(10n, limits), below]) {
      const ask = async (holdId: string, name: string) =>
        ledger.admit(
          admitRequest(keyId, holdId, 10n, {
            claim: { name, fingerprint: 'f' },
            hold: { id: holdId, amount: 10n, amountMin: 10n, ttlMs: 600_000, inputTokens: 100 },
          }),
        );
      const rate = (remaining: number) => ({ limit: 5, remaining, resetMs: 60_000 });
      assert.equal((await ask('h1', 'a')).kind, 'admitted');
      // It holds all credit, tokens and places there are.
      assert.deepEqual(await ask('h2', 'a'), { kind: 'in_flight', rate: rate(3) });
      assert.equal((await ask('h3', 'b')).kind, 'tokens_limited');
      await ledger.settle(settleRequest(keyId, 'h1', 10n, { reply: reply('done') }));
      const replayed = await ask('h4', 'a');
      assert.deepEqual(replayed.kind === 'replay' && replayed.rate, rate(2));
      assert.equal((await ask('h5', 'a')).kind, 'replay');
      assert.equal((await ask('h6', 'a')).kind, 'replay');
      assert.equal((await ask('h7', 'a')).kind, 'rate_limited');
    }
    await bench.close();
  });

  test('[R11] a repeat takes its place in the rate limit before its claim is looked at', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n, { rpmLimit: 2 });
    await bench.hold(keyId, 1n, CLAIM);
    assert.deepEqual((await bench.admit(keyId, 1n, CLAIM))[1], {
      kind: 'in_flight',
      rate: { limit: 2, remaining: 0, resetMs: 60_000 },
    });
    assert.equal((await bench.admit(keyId, 1n, CLAIM))[1].kind, 'rate_limited');
    await bench.close();
  });
}
