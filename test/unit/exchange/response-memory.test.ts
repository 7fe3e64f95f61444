/** What connections remember of their responses: chains, and the bounds of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type References, type RememberedResponse, ResponseMemories } from '../../../src/exchange/response-memory.ts';

const RENEWAL = { keyId: 'key', keepMs: 1_000, bytesMax: 1_000 };
const STORE: References = {
  findChain: async (id) =>
    id === 'stored'
      ? { kind: 'chain', links: [{ id, parentId: null, input: '[1]', output: '{}' }] }
      : { kind: 'unknown', id },
  findItems: async (itemIds) => ({ kind: 'items', outputs: itemIds.map((id) => `stored ${id}`) }),
};

function response(id: string, parentId: string | null = null, bytes = 10): RememberedResponse {
  return { id, parentId, input: 'i'.repeat(bytes - 1), output: 'o', itemIds: [`item of ${id}`] };
}

async function ids(references: References, id: string, bytesMax = 1_000): Promise<string | readonly string[]> {
  const outcome = await references.findChain(id, { ...RENEWAL, bytesMax });
  if (outcome.kind === 'unknown') return `no ${outcome.id}`;
  return outcome.kind === 'chain' ? outcome.links.map((link) => link.id) : outcome.kind;
}

describe('[R80] the memory of a connection', () => {
  test('has chains, which may go on in the store', async () => {
    const memory = new ResponseMemories(() => 10_000).open(() => 1_000);
    assert.ok(memory.keep(response('a', 'stored')));
    assert.ok(memory.keep(response('b', 'a')));
    assert.deepEqual(await ids(memory.before(STORE), 'b'), ['stored', 'a', 'b']);
    assert.equal(await ids(memory.before(null), 'b'), 'no stored');
    assert.equal(await ids(memory.before(STORE), 'none'), 'no none');
    assert.equal(await ids(memory.before(STORE), 'b', 15), 'too_large');
    assert.ok(memory.keep(response('c', 'd')));
    assert.ok(memory.keep(response('d', 'c')));
    assert.equal(await ids(memory.before(STORE), 'c'), 'cycle');
  });

  test('finds items by their ids, and asks the store for the rest alone', async () => {
    const memory = new ResponseMemories(() => 10_000).open(() => 1_000);
    memory.keep(response('a'));
    const both = await memory.before(STORE).findItems(['item of a', 'other'], RENEWAL);
    assert.deepEqual(both, { kind: 'items', outputs: ['o', 'stored other'] });
    const own = await memory.before(null).findItems(['item of a', 'other'], RENEWAL);
    assert.deepEqual(own, { kind: 'items', outputs: ['o'] });
  });

  test('forgets its oldest responses within its own bound, and takes none that is larger', async () => {
    const memories = new ResponseMemories(() => 10_000);
    const memory = memories.open(() => 30);
    for (const id of ['a', 'b', 'c', 'd']) assert.ok(memory.keep(response(id)));
    assert.equal(await ids(memory.before(null), 'a'), 'no a');
    assert.deepEqual(await ids(memory.before(null), 'b'), ['b']);
    assert.equal(memory.keep(response('large', null, 31)), false);
    assert.equal(memory.keep(response('d', 'c', 25)), true, 'the same again');
    assert.equal(memory.bytes, 25);
    assert.equal(memories.bytes, 25);
  });

  test('gives way where all together have too much and it has the most; with its connection it is gone', async () => {
    const memories = new ResponseMemories(() => 60);
    const [large, small] = [memories.open(() => 1_000), memories.open(() => 1_000)];
    for (const id of ['a', 'b', 'c', 'd']) large.keep(response(id));
    for (const id of ['e', 'f', 'g']) small.keep(response(id));
    assert.equal(memories.bytes, 60);
    assert.equal(await ids(large.before(null), 'a'), 'no a');
    assert.deepEqual(await ids(small.before(null), 'e'), ['e']);
    memories.close(large);
    assert.equal(memories.bytes, 30);
    memories.close(small);
    assert.equal(memories.bytes, 0);
  });
});
