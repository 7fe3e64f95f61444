import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeptResponse, Renewal } from '../../src/ledger/port.ts';
import { Bench, type OpenBooks, settleRequest } from './fixtures.ts';

const HOUR_MS = 3_600_000;
const KEEP_MS = 24 * HOUR_MS;

function kept(id: string, change: Partial<KeptResponse> = {}): KeptResponse {
  return {
    id,
    parentId: null,
    itemIds: [`msg_${id}`],
    input: `["input of ${id}"]`,
    output: `["output of ${id}"]`,
    response: `{"id":"${id}"}`,
    keepMs: KEEP_MS,
    keyBytesMax: 1_000_000,
    ...change,
  };
}

function renewal(keyId: string, change: Partial<Renewal> = {}): Renewal {
  return { keyId, keepMs: KEEP_MS, bytesMax: 1_000_000, ...change };
}

async function keep(bench: Bench, keyId: string, response: KeptResponse): Promise<void> {
  await bench.spend(keyId, 1n, { kept: response });
}

async function idsOf(bench: Bench, keyId: string, id: string): Promise<readonly string[] | string> {
  const outcome = await bench.ledger.findChain(id, renewal(keyId));
  return outcome.kind === 'chain' ? outcome.links.map((link) => link.id) : outcome.kind;
}

export function responseContract(open: OpenBooks): void {
  test('[R64] a response is there, as it was given, once its settlement is', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const response = kept('resp_1', { input: '["ünï\\u0000 \\ud800 💡"]', parentId: 'resp_0' });
    assert.equal(await bench.ledger.getResponse(keyId, 'resp_1'), null);
    await keep(bench, keyId, response);
    const { id, parentId, input, output, response: rest } = response;
    const stored = { id, parentId, input, output, response: rest };
    assert.deepEqual(await bench.ledger.getResponse(keyId, 'resp_1'), stored);
    assert.equal(await bench.ledger.getResponse(keyId, 'resp_2'), null);
    await bench.close();
  });

  test('[F40] nothing is kept of a settlement that does not count, and what counts is kept once', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const voided = await bench.hold(keyId, 2n);
    await ledger.void(voided, keyId);
    await ledger.settle(settleRequest(keyId, voided, 1n, { kept: kept('resp_voided') }));
    assert.equal(await ledger.getResponse(keyId, 'resp_voided'), null);
    const holdId = await bench.hold(keyId, 2n);
    const [first, second] = await Promise.all([
      ledger.settle(settleRequest(keyId, holdId, 1n, { kept: kept('resp_first') })),
      ledger.settle(settleRequest(keyId, holdId, 1n, { kept: kept('resp_second') })),
    ]);
    assert.deepEqual([first.kind, second.kind], ['settled', 'already_settled']);
    assert.ok(await ledger.getResponse(keyId, 'resp_first'));
    assert.equal(await ledger.getResponse(keyId, 'resp_second'), null);
    await bench.close();
  });

  test('[F40] an operation that fails takes neither the charge nor the response of another one with it', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(10n);
    const [good, bad] = [await bench.hold(keyId, 2n), await bench.hold(keyId, 2n)];
    const [settled, failed] = await Promise.allSettled([
      ledger.settle(settleRequest(keyId, good, 1n, { kept: kept('resp_good') })),
      ledger.settle(settleRequest(keyId, bad, -1n, { kept: kept('resp_bad') })),
    ]);
    assert.deepEqual([settled.status, failed.status], ['fulfilled', 'rejected']);
    assert.ok(await ledger.getResponse(keyId, 'resp_good'));
    assert.equal(await ledger.getResponse(keyId, 'resp_bad'), null);
    assert.equal((await bench.summary(keyId)).used, 1n);
    await ledger.void(bad, keyId);
    await bench.close();
  });

  test('[R64] a chain is read from its first response on, and only by its own key', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(10n);
    const other = await bench.creditKey(10n);
    await keep(bench, keyId, kept('resp_1'));
    await keep(bench, keyId, kept('resp_2', { parentId: 'resp_1' }));
    await keep(bench, keyId, kept('resp_3', { parentId: 'resp_2' }));
    assert.deepEqual(await idsOf(bench, keyId, 'resp_3'), ['resp_1', 'resp_2', 'resp_3']);
    assert.deepEqual(await idsOf(bench, keyId, 'resp_2'), ['resp_1', 'resp_2']);
    const outcome = await bench.ledger.findChain('resp_1', renewal(keyId));
    assert.deepEqual(outcome, {
      kind: 'chain',
      links: [{ id: 'resp_1', parentId: null, input: '["input of resp_1"]', output: '["output of resp_1"]' }],
    });
    assert.deepEqual(await bench.ledger.findChain('resp_3', renewal(other)), { kind: 'unknown', id: 'resp_3' });
    assert.equal(await bench.ledger.getResponse(other, 'resp_1'), null);
    assert.equal(await bench.ledger.deleteResponse(other, 'resp_1'), false);
    const items = await bench.ledger.findItems(['msg_resp_1'], renewal(other));
    assert.deepEqual(items, { kind: 'items', outputs: [] });
    await bench.close();
  });

  test('[R64] a chain with a missing link, a cycle or too much in it is not read', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(20n);
    await keep(bench, keyId, kept('resp_1'));
    await keep(bench, keyId, kept('resp_2', { parentId: 'resp_1' }));
    const twoLinks = Buffer.byteLength('["input of resp_1"]["output of resp_1"]') * 2;
    const small = await ledger.findChain('resp_2', renewal(keyId, { bytesMax: twoLinks - 1 }));
    assert.deepEqual(small, { kind: 'too_large' });
    const enough = await ledger.findChain('resp_2', renewal(keyId, { bytesMax: twoLinks }));
    assert.equal(enough.kind, 'chain');
    assert.equal(await ledger.deleteResponse(keyId, 'resp_1'), true);
    assert.equal(await ledger.deleteResponse(keyId, 'resp_1'), false);
    assert.deepEqual(await ledger.findChain('resp_2', renewal(keyId)), { kind: 'unknown', id: 'resp_1' });
    await keep(bench, keyId, kept('resp_1', { parentId: 'resp_2' }));
    assert.deepEqual(await ledger.findChain('resp_2', renewal(keyId)), { kind: 'cycle' });
    await keep(bench, keyId, kept('resp_self', { parentId: 'resp_self' }));
    assert.deepEqual(await ledger.findChain('resp_self', renewal(keyId)), { kind: 'cycle' });
    await bench.close();
  });

  test('[R64] items are found by their ids, those of the newest response that has them', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(20n);
    await keep(bench, keyId, kept('resp_1', { itemIds: ['msg_a', 'fc_a'] }));
    await keep(bench, keyId, kept('resp_2', { itemIds: ['msg_b', 'fc_a', 'fc_a'] }));
    const find = async (...ids: string[]) => {
      const found = await ledger.findItems(ids, renewal(keyId));
      return found.kind === 'items' ? [...found.outputs].sort() : found.kind;
    };
    assert.deepEqual(await find('msg_a'), ['["output of resp_1"]']);
    assert.deepEqual(await find('fc_a', 'fc_a'), ['["output of resp_2"]']);
    assert.deepEqual(await find('msg_a', 'msg_b', 'nothing'), ['["output of resp_1"]', '["output of resp_2"]']);
    assert.deepEqual(await ledger.findItems(['msg_a', 'msg_b'], renewal(keyId, { bytesMax: 30 })), {
      kind: 'too_large',
    });
    await ledger.deleteResponse(keyId, 'resp_2');
    assert.deepEqual(await find('fc_a', 'msg_b'), []);
    await bench.close();
  });

  test('[R64] a response without its input is there for its items alone', async () => {
    const bench = await Bench.open(open);
    const { ledger } = bench;
    const keyId = await bench.creditKey(20n);
    await keep(bench, keyId, kept('resp_1', { input: null }));
    assert.equal(await ledger.getResponse(keyId, 'resp_1'), null);
    assert.deepEqual(await ledger.findChain('resp_1', renewal(keyId)), { kind: 'unknown', id: 'resp_1' });
    const found = await ledger.findItems(['msg_resp_1'], renewal(keyId));
    assert.deepEqual(found, { kind: 'items', outputs: ['["output of resp_1"]'] });
    await bench.close();
  });

  test('[R64] a later response of the same id takes the place of the earlier one', async () => {
    const bench = await Bench.open(open);
    const keyId = await bench.creditKey(20n);
    await keep(bench, keyId, kept('resp_1', { itemIds: ['msg_old'] }));
    await keep(bench, keyId, kept('resp_1', { itemIds: ['msg_new'], response: '{"again":true}' }));
    assert.equal((await bench.ledger.getResponse(keyId, 'resp_1'))?.response, '{"again":true}');
    const old = await bench.ledger.findItems(['msg_old'], renewal(keyId));
    assert.deepEqual(old, { kind: 'items', outputs: [] });
    await bench.close();
  });

  test('[R64] a response expires, and its use renews its whole chain', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const keyId = await bench.creditKey(20n);
    await keep(bench, keyId, kept('resp_1'));
    await keep(bench, keyId, kept('resp_2', { parentId: 'resp_1' }));
    await keep(bench, keyId, kept('resp_lone'));
    clock.advance(23 * HOUR_MS);
    assert.deepEqual(await idsOf(bench, keyId, 'resp_2'), ['resp_1', 'resp_2']);
    clock.advance(HOUR_MS);
    assert.equal(await ledger.getResponse(keyId, 'resp_lone'), null);
    assert.equal(await idsOf(bench, keyId, 'resp_lone'), 'unknown');
    assert.equal(await ledger.deleteResponse(keyId, 'resp_lone'), false);
    const expired = await ledger.findItems(['msg_resp_lone'], renewal(keyId));
    assert.deepEqual(expired, { kind: 'items', outputs: [] });
    clock.advance(22 * HOUR_MS);
    // An item renews the response that has it.
    await ledger.findItems(['msg_resp_1'], renewal(keyId));
    clock.advance(2 * HOUR_MS);
    assert.deepEqual(await idsOf(bench, keyId, 'resp_1'), ['resp_1']);
    assert.equal(await idsOf(bench, keyId, 'resp_2'), 'unknown');
    await bench.close();
  });

  test('[R64] what has expired, and what a revoked key had, is removed in small steps', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const keyId = await bench.creditKey(1_000n);
    const revoked = await bench.creditKey(1_000n);
    for (let index = 0; index < 25; index++) await keep(bench, keyId, kept(`resp_${index}`));
    clock.advance(KEEP_MS - 1);
    await keep(bench, keyId, kept('resp_young'));
    await keep(bench, revoked, kept('resp_of_revoked'));
    const before = await ledger.prune(null);
    assert.deepEqual(before, { removed: 0, more: false });
    clock.advance(1);
    await ledger.changeKey(revoked, { status: 'revoked' });
    const first = await ledger.prune(null);
    assert.equal(first.more, true);
    assert.ok(first.removed < 26);
    let removed = first.removed;
    for (let more = true; more; ) {
      const step = await ledger.prune(null);
      removed += step.removed;
      more = step.more;
    }
    assert.equal(removed, 26);
    assert.ok(await ledger.getResponse(keyId, 'resp_young'));
    assert.equal(await ledger.getResponse(revoked, 'resp_of_revoked'), null);
    await bench.close();
  });

  test('[R64] the responses of a key stay within their limit: the oldest leave first, those of other keys stay', async () => {
    const bench = await Bench.open(open);
    const { ledger, clock } = bench;
    const keyId = await bench.creditKey(1_000n);
    const other = await bench.creditKey(1_000n);
    const large = (id: string): KeptResponse => kept(id, { input: 'x'.repeat(300), keyBytesMax: 1_000 });
    await keep(bench, other, large('resp_other'));
    await keep(bench, keyId, large('resp_1'));
    clock.advance(2 * HOUR_MS);
    await keep(bench, keyId, large('resp_2'));
    clock.advance(2 * HOUR_MS);
    // Used again, it is no longer the oldest.
    assert.deepEqual(await idsOf(bench, keyId, 'resp_1'), ['resp_1']);
    await keep(bench, keyId, large('resp_3'));
    assert.equal(await ledger.getResponse(keyId, 'resp_2'), null);
    assert.ok(await ledger.getResponse(keyId, 'resp_1'));
    await keep(bench, keyId, kept('resp_4', { input: 'x'.repeat(900), keyBytesMax: 1_000 }));
    assert.equal(await ledger.getResponse(keyId, 'resp_1'), null);
    assert.equal(await ledger.getResponse(keyId, 'resp_3'), null);
    assert.ok(await ledger.getResponse(keyId, 'resp_4'));
    assert.ok(await ledger.getResponse(other, 'resp_other'));
    await bench.close();
  });
}
