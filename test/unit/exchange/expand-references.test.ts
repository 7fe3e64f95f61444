import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/core/conditions.ts';
import { ENDPOINTS } from '../../../src/core/endpoints.ts';
import { failureOf } from '../../../src/core/failure.ts';
import { expandReferences } from '../../../src/exchange/expand-references.ts';
import type { ChainOutcome, RunState, Runs, StoredLink, StoredResponses } from '../../../src/ledger/port.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { parseBody } from '../../../src/wire/json/parse-request.ts';
import { writeOutput } from '../../../src/wire/responses/stored-items.ts';

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
const REASONING = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'secret' };
const SAID = { type: 'message', role: 'user', content: 'Hello' };

function link(
  id: string,
  input: readonly object[],
  output: readonly object[],
  parentId: string | null = null,
): StoredLink {
  return {
    id,
    parentId,
    input: JSON.stringify(input),
    output: writeOutput({ provider: 'one', items: output as readonly JsonObject[] }),
  };
}

class FakeStore implements StoredResponses, Pick<Runs, 'findRun'> {
  run: RunState | null = null;
  chain: ChainOutcome = { kind: 'unknown', id: 'resp_1' };
  outputs: readonly (readonly object[])[] = [];
  readonly asked: string[] = [];

  async findChain(id: string): Promise<ChainOutcome> {
    this.asked.push(id);
    return this.chain;
  }

  async findItems(itemIds: readonly string[]) {
    this.asked.push(...itemIds);
    const outputs = this.outputs.map((items) =>
      writeOutput({ provider: 'two', items: items as readonly JsonObject[] }),
    );
    return { kind: 'items', outputs } as const;
  }

  async findRun() {
    return this.run;
  }

  async getResponse() {
    return null;
  }

  async deleteResponse() {
    return false;
  }
}

const POLICY = {
  limits: { bodyBytes: 4_096 },
  responses: { store: true, keepMs: 1_000, recordBytes: 1_000, keyBytes: 10_000 },
} as Parameters<typeof expandReferences>[2];

function expand(store: FakeStore, body: object, policy = POLICY) {
  return expandReferences(store, 'key', policy, parseBody(Buffer.from(JSON.stringify({ model: 'm', ...body }))));
}

async function refusalOf(store: FakeStore, body: object, policy = POLICY): Promise<GatewayError> {
  const error = await expand(store, body, policy).then(
    () => assert.fail('it was expanded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof GatewayError, String(error));
  const { condition } = failureOf(ENDPOINTS.responses, error);
  assert.equal(condition, 'invalid_request');
  return error;
}

describe('[R64] a request that refers to nothing', () => {
  test('is the same object, and nothing is looked up', async () => {
    const store = new FakeStore();
    const parsed = parseBody(Buffer.from('{"model":"m","input":"Hello"}'));
    const { request, state } = await expandReferences(store, 'key', POLICY, parsed);
    assert.equal(request, parsed);
    assert.deepEqual(store.asked, []);
    assert.deepEqual(state.answer, { store: true, previousResponseId: null, hidesEncrypted: true });
    assert.deepEqual(state.newInput, [SAID]);
  });

  test('is not to be kept with store: false, and shows what it asked for', async () => {
    const without = await expand(new FakeStore(), { input: 'x', store: false });
    assert.deepEqual(without.state.answer, { store: false, previousResponseId: null, hidesEncrypted: false });
    const asking = await expand(new FakeStore(), { input: 'x', include: ['reasoning.encrypted_content'] });
    assert.deepEqual(asking.state.answer, { store: true, previousResponseId: null, hidesEncrypted: false });
  });
});

describe('[R64] previous_response_id', () => {
  test('becomes the items of the chain before those of the request', async () => {
    const store = new FakeStore();
    store.chain = {
      kind: 'chain',
      links: [link('resp_0', [SAID], [REASONING, MESSAGE]), link('resp_1', [{ ...SAID, content: 'Again' }], [])],
    };
    const { request, state } = await expand(store, { previous_response_id: 'resp_1', input: 'And now?', user: 'u' });
    assert.deepEqual(request.body, {
      model: 'm',
      input: [SAID, REASONING, MESSAGE, { ...SAID, content: 'Again' }, { ...SAID, content: 'And now?' }],
      user: 'u',
    });
    assert.deepEqual(JSON.parse(request.bytes.toString()), request.body);
    assert.match(request.received.toString(), /previous_response_id/);
    assert.equal(state.answer.previousResponseId, 'resp_1');
    assert.deepEqual([...state.chain], ['resp_0', 'resp_1']);
    assert.deepEqual([...state.storedReasoning], [['rs_1', 'one']]);
    assert.deepEqual(state.newInput, [{ ...SAID, content: 'And now?' }]);
  });

  test('that cannot be expanded is refused by its name', async () => {
    const store = new FakeStore();
    for (const [chain, said] of [
      [{ kind: 'unknown', id: 'resp_1' }, /no response "resp_1" is stored/],
      [{ kind: 'unknown', id: 'resp_0' }, /"resp_1" continues a response that is not stored: "resp_0"/],
      [{ kind: 'cycle' }, /continue each other/],
    ] as const) {
      store.chain = chain;
      const error = await refusalOf(store, { previous_response_id: 'resp_1', input: 'x' });
      assert.equal(error.param, 'previous_response_id');
      // Over a WebSocket clients act on it: they send everything.
      assert.equal(error.condition, chain.kind === 'unknown' ? 'previous_response_not_found' : 'invalid_request');
      assert.match(error.message, said);
    }
    store.chain = { kind: 'too_large' };
    assert.match((await refusalOf(store, { previous_response_id: 'resp_1', input: 'x' })).message, /larger than 4096/);
  });

  test('of a background response that is there but cannot be continued is refused with the reason', async () => {
    const store = new FakeStore();
    for (const [status, said] of [
      ['in_progress', /"resp_1" is still in progress/],
      ['cancelled', /"resp_1" was cancelled and cannot be continued/],
      ['failed', /"resp_1" has failed and cannot be continued/],
      ['lost', /"resp_1" has failed and cannot be continued/],
      ['completed', /no response "resp_1" is stored\..*too large to be kept/],
    ] as const) {
      store.run = { id: 'resp_1', status, cancelled: false, lastEvent: 0, response: '{}' };
      const error = await refusalOf(store, { previous_response_id: 'resp_1', input: 'x' });
      assert.deepEqual([error.condition, error.param], ['previous_response_not_found', 'previous_response_id']);
      assert.match(error.message, said);
    }
  });

  test('of a shape that no id has is refused without a look into the store', async () => {
    const store = new FakeStore();
    for (const id of [7, {}, [], '', 'a b', 'x'.repeat(201), 'nul\u0000', true]) {
      const error = await refusalOf(store, { previous_response_id: id, input: 'x' });
      assert.equal(error.param, 'previous_response_id');
    }
    assert.deepEqual(store.asked, []);
  });
});

describe('[R64] an item reference', () => {
  test('becomes its item, wherever it stands', async () => {
    const store = new FakeStore();
    store.outputs = [[REASONING, MESSAGE]];
    const input = [SAID, { type: 'item_reference', id: 'rs_1' }, { type: 'item_reference', id: 'msg_1' }, SAID];
    const { request, state } = await expand(store, { input });
    assert.deepEqual(request.body.input, [SAID, REASONING, MESSAGE, SAID]);
    assert.deepEqual(store.asked, ['rs_1', 'msg_1']);
    // What is kept of this turn refers as the client did: nothing is stored twice.
    assert.deepEqual(state.newInput, input);
    assert.deepEqual([...state.storedReasoning], [['rs_1', 'two']]);
  });

  test('in an earlier turn of the chain is looked up too', async () => {
    const store = new FakeStore();
    store.chain = { kind: 'chain', links: [link('resp_1', [{ type: 'item_reference', id: 'msg_1' }], [])] };
    store.outputs = [[MESSAGE]];
    const { request } = await expand(store, { previous_response_id: 'resp_1', input: 'x' });
    assert.deepEqual(request.body.input, [MESSAGE, { ...SAID, content: 'x' }]);
    store.outputs = [];
    const error = await refusalOf(store, { previous_response_id: 'resp_1', input: 'x' });
    assert.equal(error.param, 'previous_response_id');
  });

  test('that is unknown or no id is refused by its place', async () => {
    const store = new FakeStore();
    store.outputs = [[MESSAGE]];
    for (const id of ['msg_2', '', 9, null, 'x y']) {
      const error = await refusalOf(store, { input: [SAID, { type: 'item_reference', id }] });
      assert.equal(error.param, 'input[1].id');
    }
  });

  test('repeated without end does not grow beyond the limit of a body', async () => {
    const store = new FakeStore();
    store.outputs = [[{ ...MESSAGE, content: 'x'.repeat(1_000) }]];
    const input = Array.from({ length: 50 }, () => ({ type: 'item_reference', id: 'msg_1' }));
    assert.match((await refusalOf(store, { input })).message, /larger than 4096 bytes/);
    const many = Array.from({ length: 5_000 }, (_, index) => ({ type: 'item_reference', id: `msg_${index}` }));
    assert.match((await refusalOf(store, { input: many })).message, /more than 4096 stored items/);
  });
});

test('[R65] reasoning whose encrypted content was hidden gets it back', async () => {
  const store = new FakeStore();
  store.outputs = [[REASONING]];
  const hidden = { ...REASONING, encrypted_content: null };
  const { request } = await expand(store, { input: [hidden, SAID] });
  assert.deepEqual(request.body.input, [REASONING, SAID]);
  const own = { ...REASONING, encrypted_content: 'of the client' };
  assert.deepEqual((await expand(store, { input: [own] })).request.body.input, [own]);
  store.outputs = [];
  assert.deepEqual((await expand(store, { input: [hidden, SAID] })).request.body.input, [hidden, SAID]);
});

test('[R64] where nothing is stored, references are refused with store: false', async () => {
  const policy = { ...POLICY, responses: { ...POLICY.responses, store: false } };
  const store = new FakeStore();
  const previous = await refusalOf(store, { previous_response_id: 'resp_1', input: 'x' }, policy);
  assert.equal(previous.param, 'previous_response_id');
  assert.match(previous.message, /store: false/);
  const item = await refusalOf(store, { input: [{ type: 'item_reference', id: 'msg_1' }] }, policy);
  assert.equal(item.param, 'input[0].id');
  assert.match(item.message, /store: false/);
  const { state } = await expand(store, { input: [{ ...REASONING, encrypted_content: null }] }, policy);
  assert.equal(state.answer.store, false);
  assert.deepEqual(store.asked, []);
});
