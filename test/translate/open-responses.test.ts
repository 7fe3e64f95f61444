/** Responses and their events against the public Open Responses schemas, whoever the provider is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Format } from '../../src/core/endpoints.ts';
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts';
import type { InBandFailure } from '../../src/wire/format.ts';
import { FORMATS as WIRE_FORMATS } from '../../src/wire/formats.ts';
import type { Lane, LaneStream } from '../../src/wire/lane.ts';
import { assertEvents, assertResponse } from '../support/open-responses.ts';
import { type AnswerSpec, streamedAnswer, wholeAnswer } from '../support/upstreams/answers.ts';
import { completeResponse, laneFor, RESPONSES_STREAM } from '../unit/wire/streams.ts';
import { events, TOKENS } from './answer-helpers.ts';
import { FORMATS, lane, MINIMAL, OUTPUT_LIMIT, runStream, runWhole } from './run-lane.ts';

/** Everything that a response repeats. */
const REQUEST: JsonObject = {
  ...MINIMAL.responses,
  instructions: 'Be brief.',
  temperature: 0.5,
  top_p: 0.25,
  metadata: { a: 'b' },
  tools: [{ type: 'function', name: 'f' }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  text: { format: { type: 'json_schema', name: 'o', schema: { type: 'object' } } },
  safety_identifier: 'me',
  prompt_cache_key: 'k',
  store: false,
};
const REPEATED = {
  instructions: 'Be brief.',
  temperature: 0.5,
  top_p: 0.25,
  presence_penalty: 0,
  frequency_penalty: 0,
  metadata: { a: 'b' },
  tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
  parallel_tool_calls: false,
  safety_identifier: 'me',
  prompt_cache_key: 'k',
  max_tool_calls: null,
  top_logprobs: 0,
  service_tier: 'default',
  max_output_tokens: OUTPUT_LIMIT,
};
const SPEC: AnswerSpec = {
  blocks: [
    { kind: 'thinking', pieces: ['Hm', '.'], signature: 's' },
    { kind: 'text', pieces: ['one', 'two'] },
    { kind: 'tool', id: 'call_1', name: 'f', pieces: ['{', '}'] },
  ],
  finish: 'tool',
  tokens: TOKENS,
};
const FAILURE: InBandFailure = {
  code: 'upstream_error',
  type: 'api_error',
  typeB: 'api_error',
  message: 'It broke.',
  requestId: 'req_1',
  publicModel: 'public/model',
};

const picked = (response: Json | undefined): JsonObject =>
  Object.fromEntries(Object.keys(REPEATED).map((name) => [name, isObject(response) ? response[name] : undefined]));

/** The lane after its request was sent, which is when it knows its output limit. */
function sent(running: Lane): Lane {
  running.requestBody({ upstreamModel: 'up', outputLimit: OUTPUT_LIMIT });
  return running;
}

function failed(stream: LaneStream): JsonObject {
  const position = stream.position?.() ?? undefined;
  const [event = {}] = events(WIRE_FORMATS.responses.failureFrames({ ...FAILURE, position }).toString());
  return event;
}

const laneTo = (to: Format, body: JsonObject): Lane => sent(lane('responses', to, body));

for (const to of FORMATS) {
  describe(`[R41] a responses client of a ${to} target`, () => {
    test('gets every required field, whole and in every event, and what its request said', () => {
      const { body } = runWhole(laneTo(to, REQUEST), wholeAnswer(to, SPEC));
      assertResponse(body);
      assert.deepEqual(picked(body), REPEATED);
      const run = runStream(laneTo(to, { ...REQUEST, stream: true }), streamedAnswer(to, SPEC));
      const list = events(run.text + run.terminal);
      assertEvents(list);
      for (const event of list.filter(({ response }) => response !== undefined)) {
        assert.deepEqual(picked(event.response), REPEATED, String(event.type));
      }
    });

    test('gets a response.incomplete that repeats what response.created said and holds the items', () => {
      const spec: AnswerSpec = { blocks: [{ kind: 'text', pieces: ['one'] }], finish: 'length', tokens: TOKENS };
      const run = runStream(laneTo(to, { ...REQUEST, stream: true }), streamedAnswer(to, spec));
      const last = events(run.terminal ?? '')[0] ?? {};
      assertEvents(events(run.text + run.terminal));
      assert.equal(last.type, 'response.incomplete');
      assert.deepEqual(picked(last.response), REPEATED);
      assert.match(JSON.stringify(last.response), /"text":"one"/);
    });

    test('gets a response.failed that repeats what response.created said and holds the items that were streamed', () => {
      const stream = laneTo(to, { ...REQUEST, stream: true }).stream();
      const upstream = streamedAnswer(to, SPEC);
      const step = stream.push(Buffer.from(upstream.slice(0, upstream.indexOf('two'))));
      const seen = events(step.forward?.toString() ?? '');
      const event = failed(stream);
      assertEvents([...seen, event]);
      assert.deepEqual(picked(event.response), REPEATED);
      const { response } = event;
      assert.ok(isObject(response) && Array.isArray(response.output));
      assert.deepEqual(
        [response.status, response.id, isObject(response.error) && response.error.code],
        ['failed', isObject(seen[0]?.response) && seen[0].response.id, 'upstream_error'],
      );
      const items = (response.output as JsonObject[]).map(({ type, status }) => [type, status]);
      assert.deepEqual(items.at(-1), ['message', 'incomplete']);
      assert.match(JSON.stringify(response.output), /"text":"one"/);
    });
  });
}

/** The same answer from a native upstream that leaves out what an older server does not know. */
describe('[R41] a native upstream', () => {
  const OMITTED = [
    'background',
    'completed_at',
    'frequency_penalty',
    'max_output_tokens',
    'max_tool_calls',
    'presence_penalty',
    'previous_response_id',
    'prompt_cache_key',
    'reasoning',
    'safety_identifier',
    'service_tier',
    'store',
    'text',
    'top_logprobs',
    'truncation',
    'usage',
    'user',
  ];
  const native = (body: JsonObject, mayBeCut = false): Lane => sent(laneFor('responses', body, undefined, mayBeCut));
  const sparse = (value: Json): Json => {
    if (Array.isArray(value)) return value.map((item) => sparse(item as Json));
    if (!isObject(value)) return value;
    const left = Object.entries(value).filter(
      ([name]) => !(value.object === 'response' && name !== 'usage' && OMITTED.includes(name)),
    );
    return Object.fromEntries(left.map(([name, member]) => [name, sparse(member ?? null)])) as JsonObject;
  };
  const eventsOf = (run: { forwarded?: string; text?: string; terminal: string | null }): JsonObject[] =>
    events((run.forwarded ?? run.text ?? '') + (run.terminal ?? ''));

  test('that omits fields is repaired, whole', () => {
    const tools = [{ type: 'function', name: 'f' }];
    const item = { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] };
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const reasoning = { type: 'reasoning', id: 'r', encrypted_content: null };
    const usage = { input_tokens: 3, output_tokens: 4 };
    for (const name of OMITTED) {
      const { [name]: _omitted, ...answer } = {
        ...completeResponse('completed', { tools, output: [item, call, reasoning], usage }),
      } as Record<string, unknown>;
      const { body } = runWhole(native({ temperature: 0.5 }), { ...answer, extra: 'kept' });
      assertResponse(body);
      assert.deepEqual(
        [body.extra, isObject(body.usage) ? body.usage.total_tokens : body.usage],
        ['kept', name === 'usage' ? 2 : 7],
      );
    }
  });

  test('that sets fields to null where the schemas want a value is repaired, whole', () => {
    const answer = completeResponse('completed', {
      temperature: null,
      top_p: null,
      service_tier: null,
      metadata: null,
      truncation: null,
    });
    const { body } = runWhole(native({ temperature: 0.5 }), answer);
    assertResponse(body);
    assert.deepEqual([body.temperature, body.top_p, body.service_tier, body.metadata], [0.5, 1, 'default', {}]);
  });

  test('that omits fields is repaired in every event, and every other byte passes', () => {
    const upstream = RESPONSES_STREAM.map((frame) =>
      frame.replace(/data: (.*)/, (_, data: string) => `data: ${JSON.stringify(sparse(JSON.parse(data)))}`),
    );
    const run = runStream(native({ ...REQUEST, stream: true }), upstream.join(''));
    const list = eventsOf(run);
    assertEvents(list);
    for (const frame of upstream.filter((one) => one.includes('delta'))) assert.ok(run.text.includes(frame));
    assert.deepEqual(run.meter.reported, {
      input: 40,
      cacheRead: 10,
      cacheWrite: 0,
      cacheWrite1h: 0,
      output: 9,
      reasoning: 4,
    });
  });

  test('whose events lack numbers, ids or indexes after a sound beginning is repaired too', () => {
    const upstream = RESPONSES_STREAM.map((frame, index) =>
      index < 2
        ? frame
        : frame
            .replace(/"sequence_number":\d+,/, '')
            .replace(/"item_id":"m",/, '')
            .replace(/"output_index":0,/, '')
            .replace(/"content_index":0,/, '')
            .replace(/,"logprobs":\[\]/, ''),
    );
    assertEvents(eventsOf(runStream(native({ ...REQUEST, stream: true }), upstream.join(''))));
  });

  test('whose logprobs are null where the schemas want a list is repaired, whole and streamed', () => {
    const part = { type: 'output_text', text: 'Hi', annotations: [], logprobs: null };
    const output = [{ type: 'message', id: 'm', status: 'completed', role: 'assistant', content: [part] }];
    assertResponse(runWhole(native({}), completeResponse('completed', { output })).body);
    const upstream = RESPONSES_STREAM.map((frame) => frame.replaceAll('"logprobs":[]', '"logprobs":null'));
    assertEvents(eventsOf(runStream(native({ ...REQUEST, stream: true }), upstream.join(''))));
  });

  test('that lacks nothing passes to the byte', () => {
    const run = runStream(native({ stream: true }), RESPONSES_STREAM.join(''));
    const published = (text: string): string => text.replaceAll('"upstream-2026-01"', JSON.stringify('acme/größe "1"'));
    assert.equal(run.text + run.terminal, published(RESPONSES_STREAM.join('')));
  });

  test('that fails in mid-stream: response.failed repeats its response.created and holds what was streamed', () => {
    for (const until of [1, 3, 5, 6, 9]) {
      const stream = native({ ...REQUEST, stream: true }).stream();
      const step = stream.push(Buffer.from(RESPONSES_STREAM.slice(0, until).join('')));
      const seen = events(step.forward?.toString() ?? '');
      const event = failed(stream);
      assertEvents([...seen, event]);
      const created = seen[0]?.response as JsonObject;
      const response = event.response as JsonObject;
      for (const name of Object.keys(created)) {
        if (['status', 'error', 'output'].includes(name)) continue;
        assert.deepEqual(response[name], created[name], name);
      }
      const text = {
        1: '',
        3: '',
        5: 'Hällo ',
        6: 'Hällo "response":{"model":"x"}',
        9: 'Hällo "response":{"model":"x"}',
      }[until];
      const said = JSON.stringify(response.output).includes('output_text');
      assert.equal(said, until > 3);
      if (said) assert.ok(JSON.stringify(response.output).includes(JSON.stringify(text)));
    }
  });

  test('whose stream is cut short: response.incomplete repeats its response.created and holds what was streamed', () => {
    const stream = native({ ...REQUEST, stream: true }, true).stream();
    const step = stream.push(Buffer.from(RESPONSES_STREAM.slice(0, 5).join('')));
    const cut = stream.cutShort?.(TOKENS);
    const list = events(
      (step.forward?.toString() ?? '') + (cut?.forward?.toString() ?? '') + stream.terminal().toString(),
    );
    assertEvents(list);
    const created = list[0]?.response as JsonObject;
    const response = list.at(-1)?.response as JsonObject;
    assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    for (const name of Object.keys(created)) {
      if (['status', 'output', 'usage', 'incomplete_details'].includes(name)) continue;
      assert.deepEqual(response[name], created[name], name);
    }
    assert.match(JSON.stringify(response.output), /Hällo /);
  });

  test('that fails before its first event: response.failed still has every field', () => {
    const event = failed(native({ ...REQUEST, stream: true }).stream());
    assertEvents([event]);
    assert.deepEqual(picked(event.response), REPEATED);
    assertEvents(events(WIRE_FORMATS.responses.failureFrames(FAILURE).toString()));
  });
});
