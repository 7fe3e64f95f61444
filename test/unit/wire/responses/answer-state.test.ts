import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseBody } from '../../../../src/wire/json/parse-request.ts';
import { stripForeignReasoning } from '../../../../src/wire/passthrough/strip-foreign-reasoning.ts';
import { FinalBytes } from '../../../../src/wire/responses/answer-state.ts';
import { responsesFormat } from '../../../../src/wire/responses/format.ts';
import { isStorableId, readResponse, writeOutput, writeResponse } from '../../../../src/wire/responses/stored-items.ts';

const HIDING = { store: true, previousResponseId: 'resp_0', hidesEncrypted: true };
const SHOWING = { ...HIDING, hidesEncrypted: false };

describe('[R64] the last bytes of a response', () => {
  const whole = '{ "id":"resp_1","n":1.0, "store" : false,"previous_response_id":null,"output":[ {"a":"}"} ] }';

  test('say whether it was kept and what it continues, and nothing else of them changes', () => {
    const expected = whole.replace('false', 'true').replace('null', '"resp_0"');
    assert.equal(new FinalBytes(Buffer.from(whole), false).written(HIDING).toString(), expected);
    const stream = `: c\n\nevent: response.completed\ndata: {"type":"x", "response":${whole}}\n\n`;
    const final = new FinalBytes(Buffer.from(stream), true);
    assert.deepEqual(final.response, JSON.parse(whole));
    assert.equal(final.written(HIDING).toString(), stream.replace(whole, expected));
    const said = { store: false, previousResponseId: null, hidesEncrypted: false };
    assert.equal(final.written(said).toString(), stream);
  });

  test('get the members that they lack', () => {
    const written = new FinalBytes(Buffer.from('{"id":"resp_1"}'), false).written(HIDING).toString();
    assert.deepEqual(JSON.parse(written), { id: 'resp_1', store: true, previous_response_id: 'resp_0' });
  });

  test('are read whatever their lines end with, and with data over several lines', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      const stream = `event: e${end}data: {"response":{"id":"resp_1","store":false}}${end}${end}`;
      const final = new FinalBytes(Buffer.from(stream), true);
      assert.equal(final.response?.id, 'resp_1');
      assert.match(final.written(SHOWING).toString(), /"store":true/);
    }
    const lines =
      'event: e\ndata: {"response":{"id":"resp_1",\ndata: "output":[{"type":"reasoning","encrypted_content":"e"}]}}\n\n';
    const final = new FinalBytes(Buffer.from(lines), true);
    const written = final.written(HIDING).toString();
    assert.match(written, /^event: e\ndata: .*"output":\[\{"type":"reasoning"\}\].*\n\n$/);
    assert.match(written, /"store":true/);
  });

  test('that hold no response stay as they are', () => {
    for (const [bytes, streamed] of [
      ['data: [DONE]\n\n', true],
      ['data: {"response":7}\n\n', true],
      ['not json', false],
      ['', true],
    ] as const) {
      const final = new FinalBytes(Buffer.from(bytes), streamed);
      assert.equal(final.response, null);
      assert.equal(final.written(HIDING).toString(), bytes);
    }
  });

  test('[R65] hide encrypted reasoning at its own place only', () => {
    const response = {
      store: true,
      previous_response_id: 'resp_0',
      output: [
        { type: 'reasoning', encrypted_content: 'secret "[', id: 'rs_1' },
        { type: 'message', content: [{ text: '"encrypted_content":"said"', encrypted_content: 'not an item’s' }] },
        { type: 'reasoning', encrypted_content: null },
        { type: 'compaction', encrypted_content: 'other' },
      ],
      text: { encrypted_content: 'elsewhere' },
    };
    const final = new FinalBytes(Buffer.from(JSON.stringify(response, null, 1)), false);
    const written = JSON.parse(final.written(HIDING).toString());
    const [reasoning, message, none, compaction] = response.output;
    assert.deepEqual(written.output, [
      { type: reasoning?.type, id: reasoning?.id },
      message,
      { type: none?.type },
      compaction,
    ]);
    assert.deepEqual(written.text, response.text);
    assert.deepEqual(JSON.parse(final.written(SHOWING).toString()), response);
  });
});

describe('[R64] [R65] [R41] the events of a response that is kept', () => {
  const COMPLETE = {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: 'upstream',
    output: [],
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    status: 'in_progress',
    store: false,
    previous_response_id: null,
  };
  const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'secret' };
  const events = (created: object) => [
    { type: 'response.created', sequence_number: 0, response: created },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item },
    { type: 'response.output_item.done', sequence_number: 2, output_index: 0, item },
  ];

  /** `created`: by what it lacks, the events pass or are read and rewritten. */
  for (const [how, created] of [
    ['that pass', COMPLETE],
    ['that are rewritten', { id: 'resp_1', model: 'upstream', status: 'in_progress', store: false }],
  ] as const) {
    test(`say what the gateway keeps and hide encrypted reasoning, and so does a failure: ${how}`, () => {
      const bytes = Buffer.from(JSON.stringify({ model: 'public', input: 'Hello' }));
      const parsed = parseBody(bytes);
      const info = responsesFormat.validateRequest(parsed.body, bytes, { betas: false });
      const lane = responsesFormat.passthrough({ ...parsed, info, publicModel: 'public', state: HIDING });
      const stream = lane.stream();
      let seen = '';
      for (const event of events(created)) {
        const { forward } = stream.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
        seen += forward?.toString() ?? '';
      }
      assert.match(seen, /response\.output_item\.done/);
      assert.doesNotMatch(seen, /secret|upstream/);
      assert.match(seen, /"store":true/);
      assert.doesNotMatch(seen, /"store":false/);
      const failed = stream.position?.()?.response?.();
      assert.equal(failed?.store, true);
      assert.equal(failed?.previous_response_id, 'resp_0');
      assert.equal(failed?.model, 'public');
      assert.match(JSON.stringify(failed), /"rs_1"/);
      assert.doesNotMatch(JSON.stringify(failed), /secret/);
    });
  }
});

test('[R65] a stored response is shown as its client saw it', () => {
  const item = { id: 'rs_1', type: 'reasoning', encrypted_content: 'secret' };
  const output = writeOutput({ provider: 'one', items: [item] });
  const response = { id: 'resp_1', output: [item], store: true };
  const hidden = readResponse(writeResponse(response, false), output);
  assert.deepEqual(hidden, { ...response, output: [{ id: 'rs_1', type: 'reasoning' }] });
  assert.deepEqual(Object.keys(hidden), ['id', 'output', 'store']);
  assert.deepEqual(readResponse(writeResponse(response, true), output), response);
});

test('[R64] ids that could not be stored, or not be indexed, are none', () => {
  for (const id of ['resp_1', 'x', 'a/b?c=d', 'x'.repeat(200)]) assert.ok(isStorableId(id));
  for (const id of ['', ' ', 'a b', 'ü', 'nul\0', '\ud800', 'x'.repeat(201), 7, null, undefined, {}]) {
    assert.equal(isStorableId(id), false);
  }
});

describe('[R64] stored reasoning in a request to a provider', () => {
  const strip = (item: object, name: string, storesResponses = false) => {
    const request = parseBody(Buffer.from(JSON.stringify({ model: 'm', input: [item, { role: 'user' }] })));
    const made = new Map([['rs_1', 'one']]);
    const stripped = stripForeignReasoning(request, made, { name, storesResponses });
    assert.equal(stripped === request, (stripped.body.input as unknown[]).length === 2);
    return (stripped.body.input as unknown[]).length === 2 ? 'kept' : 'left out';
  };
  const encrypted = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' };
  const bare = { type: 'reasoning', id: 'rs_1', summary: [] };

  test('is kept by the one that encrypted it, and left out for every other', () => {
    assert.equal(strip(encrypted, 'one'), 'kept');
    assert.equal(strip(encrypted, 'two'), 'left out');
    assert.equal(strip(encrypted, 'two', true), 'left out');
  });

  test('[R81] and so is a compaction', () => {
    const compaction = { type: 'compaction', id: 'rs_1', encrypted_content: 'e' };
    assert.equal(strip(compaction, 'one'), 'kept');
    assert.equal(strip(compaction, 'two'), 'left out');
    assert.equal(strip({ ...compaction, id: 'cmp_2' }, 'two'), 'kept');
  });

  test('without encrypted content is kept only where its maker has stored it, or everybody can read it', () => {
    assert.equal(strip(bare, 'one'), 'left out');
    assert.equal(strip(bare, 'one', true), 'kept');
    const plain = { ...bare, content: [{ type: 'reasoning_text', text: 'hm' }] };
    assert.equal(strip(plain, 'two'), 'kept');
  });

  test('that is not of the store is left to the provider', () => {
    assert.equal(strip({ ...bare, id: 'rs_2' }, 'one'), 'kept');
    assert.equal(strip({ ...encrypted, id: 'rs_2' }, 'two'), 'kept');
    assert.equal(strip({ ...encrypted, type: 'message' }, 'two'), 'kept');
  });
});
