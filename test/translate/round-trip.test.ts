/** Requests through the hub and back to their own format: what the hub claims to carry comes out as it went in. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Format } from '../../src/core/endpoints.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { FORMATS as WIRE_FORMATS } from '../../src/wire/formats.ts';
import { toolNames } from '../../src/wire/translate/tool-names.ts';

const TRAITS = { outputLimit: 4096, reasoning: true, thinking: 'budget' } as const;

function throughHub(format: Format, body: JsonObject): JsonObject {
  const turn = WIRE_FORMATS[format].toTurn(body);
  const written = WIRE_FORMATS[format].fromTurn(turn, TRAITS, toolNames(turn, format));
  assert.deepEqual(written.warnings, []);
  return JSON.parse(JSON.stringify(written.body));
}

const word = fc.string({ minLength: 1, maxLength: 12 });
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,9}$/);
const schema = fc.constantFrom<JsonObject>(
  { type: 'object', properties: {} },
  {
    type: 'object',
    properties: { a: { type: 'string', enum: ['x', 'y'] } },
    required: ['a'],
    additionalProperties: false,
  },
);
const url = fc.constantFrom('https://example.com/a.png', 'data:image/png;base64,AAAA');
const args = fc.dictionary(name, fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null)), {
  noNullPrototype: true,
});

/** Some of the fields, none undefined. */
function some(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc.record(fields, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>;
}

const record = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> =>
  fc.record(fields, { noNullPrototype: true }) as fc.Arbitrary<JsonObject>;
const is = (value: string): fc.Arbitrary<string> => fc.constant(value);
const number = fc.double({ min: 0, max: 1, noNaN: true }).map((value) => (Object.is(value, -0) ? 0 : value));

const openaiSettings = {
  temperature: number,
  top_p: number,
  metadata: fc.dictionary(name, word, { noNullPrototype: true }),
  service_tier: fc.constantFrom('auto', 'default', 'flex', 'priority'),
  safety_identifier: word,
  prompt_cache_key: word,
  prompt_cache_retention: fc.constantFrom('in_memory', '24h'),
  user: word,
  store: fc.boolean(),
};

describe('a chat request', () => {
  const text = record({ type: is('text'), text: word });
  const image = record({ type: is('image_url'), image_url: record({ url, detail: fc.constantFrom('low', 'high') }) });
  const file = fc.constant({
    type: 'file',
    file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
  });
  const marked = record({ type: is('text'), text: word, prompt_cache_breakpoint: fc.constant({ mode: 'explicit' }) });
  const parts = fc.array(fc.oneof(text, image, file, marked), { minLength: 2, maxLength: 4 });
  const user = fc.oneof(
    record({ role: is('user'), content: fc.oneof(word, parts) }),
    record({ role: is('user'), content: word, name }),
  );
  const system = record({ role: fc.constantFrom('system', 'developer'), content: word });
  const call = fc.oneof(
    record({
      id: name,
      type: is('function'),
      function: record({ name, arguments: args.map((value) => JSON.stringify(value)) }),
    }),
    record({ id: name, type: is('custom'), custom: record({ name, input: word }) }),
  );
  const called = fc
    .uniqueArray(call, { minLength: 1, maxLength: 3, selector: (one) => one.id })
    .map((calls) => [
      { role: 'assistant', content: null, tool_calls: calls },
      ...calls.map((one) => ({ role: 'tool', tool_call_id: one.id, content: 'done' })),
    ]);
  const assistant = fc.oneof(
    record({ role: is('assistant'), content: word }).map((message) => [message]),
    record({ role: is('assistant'), content: fc.constant(null), refusal: word }).map((message) => [message]),
    called,
  );
  const messages = fc
    .tuple(fc.array(system, { maxLength: 2 }), fc.array(fc.tuple(user, assistant), { minLength: 1, maxLength: 3 }))
    .map(([first, rest]) => [...first, ...rest.flatMap(([one, other]) => [one, ...other])]);
  const tools = fc.array(
    fc.oneof(
      record({
        type: is('function'),
        function: record({ name, description: word, parameters: schema, strict: fc.boolean() }),
      }),
      record({ type: is('custom'), custom: record({ name, description: word }) }),
    ),
    { minLength: 1, maxLength: 3 },
  );
  const settings = some({
    ...openaiSettings,
    stop: fc.array(word, { minLength: 1, maxLength: 4 }),
    seed: fc.nat(),
    frequency_penalty: number,
    presence_penalty: number,
    logit_bias: fc.constant({ '50256': -100 }),
    logprobs: fc.constant(true),
    verbosity: fc.constantFrom('low', 'high'),
    reasoning_effort: fc.constantFrom('low', 'medium', 'high'),
    response_format: fc.oneof(
      fc.constant({ type: 'json_object' }),
      record({ type: is('json_schema'), json_schema: record({ name, schema, strict: fc.boolean() }) }),
    ),
  });
  const choice = some({
    tool_choice: fc.oneof(
      fc.constantFrom('auto', 'none', 'required'),
      record({ type: is('function'), function: record({ name }) }),
      record({
        type: is('allowed_tools'),
        allowed_tools: record({
          mode: fc.constantFrom('auto', 'required'),
          tools: fc.array(record({ type: is('function'), function: record({ name }) })),
        }),
      }),
    ),
    parallel_tool_calls: fc.boolean(),
  });

  test('loses nothing that the hub carries', () => {
    fc.assert(
      fc.property(messages, fc.option(fc.tuple(tools, choice)), settings, (list, tooling, more) => {
        const body = {
          messages: list,
          ...(tooling ? { tools: tooling[0], ...tooling[1] } : {}),
          ...more,
        } as JsonObject;
        assert.deepEqual(throughHub('chat', body), body);
      }),
    );
  });
});

describe('a responses request', () => {
  const text = record({ type: is('input_text'), text: word });
  const image = record({ type: is('input_image'), image_url: url, detail: fc.constantFrom('low', 'auto') });
  const file = record({ type: is('input_file'), file_url: is('https://example.com/a.pdf') });
  const parts = fc.array(fc.oneof(text, image, file), { minLength: 2, maxLength: 4 });
  const message = record({
    type: is('message'),
    role: fc.constantFrom('user', 'developer', 'system'),
    content: fc.oneof(word, parts),
  });
  const answer = record({
    type: is('message'),
    role: is('assistant'),
    id: name.map((rest) => `msg_${rest}`),
    status: is('completed'),
    content: fc.array(
      fc.oneof(
        record({ type: is('output_text'), text: word, annotations: fc.constant([]) }),
        record({ type: is('refusal'), refusal: word }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
  });
  const reasoning = record({
    type: is('reasoning'),
    id: name,
    summary: fc.array(record({ type: is('summary_text'), text: word }), { maxLength: 2 }),
    encrypted_content: word,
  });
  const called = fc.oneof(
    fc.tuple(name, some({ namespace: name }), args).map(([id, space, value]) => [
      { type: 'function_call', id: `fc_${id}`, call_id: id, name: 'f', ...space, arguments: JSON.stringify(value) },
      { type: 'function_call_output', call_id: id, output: 'done' },
    ]),
    fc.tuple(name, word, parts).map(([id, input, output]) => [
      { type: 'custom_tool_call', id: `ctc_${id}`, call_id: id, name: 'c', input },
      { type: 'custom_tool_call_output', call_id: id, output },
    ]),
  );
  const input = fc
    .array(
      fc.oneof(
        message.map((item) => [item]),
        answer.map((item) => [item]),
        reasoning.map((item) => [item]),
        called,
      ),
      { minLength: 1, maxLength: 5 },
    )
    .map((items) => items.flat())
    // Two messages with one id would be one message.
    .filter((items) => {
      const ids = items.flatMap((item) => ('id' in item ? [item.id] : []));
      return new Set(ids).size === ids.length;
    });
  const fn = record({ type: is('function'), name, description: word, parameters: schema, strict: fc.boolean() });
  const tools = fc.uniqueArray(
    fc.oneof(
      fn,
      record({ type: is('custom'), name, format: fc.constant({ type: 'grammar', syntax: 'lark', definition: 'x' }) }),
      record({
        type: is('namespace'),
        name: name.map((one) => `${one}_space`),
        description: word,
        tools: fn.map((one) => [one]),
      }),
    ),
    { minLength: 1, maxLength: 3, selector: (one) => one.name },
  );
  const settings = some({
    ...openaiSettings,
    instructions: word,
    text: record({
      format: record({ type: is('json_schema'), name, schema, strict: fc.boolean() }),
      verbosity: is('low'),
    }),
    tool_choice: fc.oneof(fc.constantFrom('auto', 'none', 'required'), record({ type: is('function'), name })),
    parallel_tool_calls: fc.boolean(),
    top_logprobs: fc.nat({ max: 5 }),
  });

  test('loses nothing that the hub carries', () => {
    fc.assert(
      fc.property(input, tools, settings, (items, list, more) => {
        const body = { input: items, tools: list, ...more } as JsonObject;
        assert.deepEqual(throughHub('responses', body), body);
      }),
    );
  });
});

describe('a messages request', () => {
  const mark = fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' });
  const text = fc.oneof(
    record({ type: is('text'), text: word }),
    record({ type: is('text'), text: word, cache_control: mark }),
  );
  const image = fc.constantFrom<JsonObject>(
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' }, cache_control: { type: 'ephemeral' } },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } },
    {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
      title: 't',
      citations: { enabled: true },
    },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, context: 'c' },
  );
  const blocks = fc.array(fc.oneof(text, image), { minLength: 2, maxLength: 4 });
  const reasoning = fc.oneof(
    record({ type: is('thinking'), thinking: word, signature: word }),
    record({ type: is('redacted_thinking'), data: word }),
  );
  const calls = fc.uniqueArray(record({ type: is('tool_use'), id: name, name, input: args }), {
    minLength: 1,
    maxLength: 3,
    selector: (one) => one.id,
  });
  const step = fc.oneof(
    fc.tuple(word, word).map(([one, other]) => [
      { role: 'assistant', content: one },
      { role: 'user', content: other },
    ]),
    fc.tuple(reasoning, text, calls, fc.boolean(), blocks).map(([first, words, made, isError, rest]) => [
      { role: 'assistant', content: [first, words, ...made] },
      {
        role: 'user',
        content: [
          ...made.map((one) => ({
            type: 'tool_result',
            tool_use_id: one.id,
            content: 'r',
            ...(isError ? { is_error: true } : {}),
          })),
          ...rest,
        ],
      },
    ]),
  );
  const messages = fc
    .tuple(fc.oneof(word, blocks), fc.array(step, { maxLength: 3 }))
    .map(([first, steps]) => [{ role: 'user', content: first }, ...steps.flat()]);
  const tools = fc.uniqueArray(record({ name, description: word, input_schema: schema, cache_control: mark }), {
    minLength: 1,
    maxLength: 3,
    selector: (one) => one.name,
  });
  const settings = some({
    system: fc.oneof(word, fc.array(text, { minLength: 2, maxLength: 3 })),
    temperature: number,
    top_p: number,
    top_k: fc.nat(),
    stop_sequences: fc.array(word, { minLength: 1, maxLength: 3 }),
    thinking: fc.constantFrom(
      { type: 'enabled', budget_tokens: 2048 },
      { type: 'adaptive', display: 'omitted' },
      { type: 'disabled' },
    ),
    output_config: record({ effort: is('high'), format: record({ type: is('json_schema'), schema }) }),
    metadata: record({ user_id: word }),
    service_tier: fc.constantFrom('auto', 'standard_only'),
    cache_control: mark,
    tool_choice: fc.oneof(
      record({ type: fc.constantFrom('auto', 'any'), disable_parallel_tool_use: fc.boolean() }),
      record({ type: is('tool'), name }),
      fc.constant({ type: 'none' }),
    ),
  });

  test('loses nothing that the hub carries', () => {
    fc.assert(
      fc.property(messages, tools, settings, (list, tooling, more) => {
        const body = { messages: list, tools: tooling, ...more } as JsonObject;
        assert.deepEqual(throughHub('messages', body), body);
      }),
    );
  });
});
