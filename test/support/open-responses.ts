/**
 * What the public Open Responses specification (version 2026-04-24) requires of responses, items, parts and stream
 * events, as JSON schemas. Only what is required, and whether it may be null: extra fields are always allowed.
 */
import assert from 'node:assert/strict';
import { Ajv, type ValidateFunction } from 'ajv';

const ajv = new Ajv({ allErrors: true, strict: false, inlineRefs: false });

/** Compiled once, however many schemas have it: most of the time would go into repetitions. */
function shared(name: string, schema: object): object {
  ajv.addSchema(schema, name);
  return { $ref: name };
}

const string = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const boolean = { type: 'boolean' };
const orNull = (schema: object): object => ({ anyOf: [schema, { type: 'null' }] });
const list = (items: object): object => ({ type: 'array', items });
const is = (value: string): object => ({ const: value });
const oneOf = (...values: readonly string[]): object => ({ enum: values });
const object = (
  properties: Readonly<Record<string, object>>,
  optional: Readonly<Record<string, object>> = {},
): object => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});
/** A variant of a union, which holds only where the discriminating member has its value. */
const variant = (type: string, schema: object): object => ({
  if: { properties: { type: is(type) }, required: ['type'] },
  // biome-ignore lint/suspicious/noThenProperty: `then` is the JSON Schema keyword, and no promise.
  then: schema,
});

const STATUS = oneOf('in_progress', 'completed', 'incomplete');
const TOP_LOGPROB = { token: string, logprob: number, bytes: list(integer) };
const LOGPROBS = list(object({ ...TOP_LOGPROB, top_logprobs: list(object(TOP_LOGPROB)) }));

/** The specification knows citations of addresses only; others are extensions. */
const ANNOTATION = {
  ...object({ type: string }),
  allOf: [variant('url_citation', object({ url: string, title: string, start_index: integer, end_index: integer }))],
};

const PART = shared('part', {
  ...object({ type: string }),
  allOf: [
    variant('output_text', object({ text: string, annotations: list(ANNOTATION), logprobs: LOGPROBS })),
    variant('refusal', object({ refusal: string })),
    variant('summary_text', object({ text: string })),
    variant('reasoning_text', object({ text: string })),
  ],
});

const ITEM = shared('item', {
  ...object({ type: string }),
  allOf: [
    variant('message', object({ id: string, status: STATUS, role: string, content: list(PART) })),
    variant('function_call', object({ id: string, call_id: string, name: string, arguments: string, status: STATUS })),
    variant('function_call_output', object({ id: string, call_id: string, output: {}, status: STATUS })),
    variant('compaction', object({ id: string, encrypted_content: string })),
    variant(
      'reasoning',
      object({ id: string, summary: list(PART) }, { content: list(PART), encrypted_content: string }),
    ),
  ],
});

const TOOL = {
  ...object({ type: string }),
  allOf: [
    variant(
      'function',
      object({
        name: string,
        description: orNull(string),
        parameters: orNull({ type: 'object' }),
        strict: orNull(boolean),
      }),
    ),
  ],
};

const FORMAT = {
  ...object({ type: string }),
  allOf: [variant('json_schema', object({ name: string, description: orNull(string), schema: {}, strict: boolean }))],
};

const USAGE = object({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  // Required by the types of the official clients.
  input_tokens_details: object({ cached_tokens: integer, cache_write_tokens: integer }),
  output_tokens_details: object({ reasoning_tokens: integer }),
});

const RESPONSE = shared(
  'response',
  object({
    id: { type: 'string', minLength: 1 },
    object: is('response'),
    created_at: integer,
    completed_at: orNull(integer),
    status: string,
    incomplete_details: orNull(object({ reason: string })),
    model: { type: 'string', minLength: 1 },
    previous_response_id: orNull(string),
    instructions: orNull(string),
    output: list(ITEM),
    error: orNull(object({ code: string, message: string })),
    tools: list(TOOL),
    tool_choice: { anyOf: [oneOf('none', 'auto', 'required'), object({ type: string })] },
    truncation: oneOf('auto', 'disabled'),
    parallel_tool_calls: boolean,
    text: object({ format: FORMAT }, { verbosity: oneOf('low', 'medium', 'high') }),
    top_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    top_logprobs: integer,
    temperature: number,
    reasoning: orNull(object({ effort: orNull(string), summary: orNull(string) })),
    user: orNull(string),
    usage: orNull(USAGE),
    max_output_tokens: orNull(integer),
    max_tool_calls: orNull(integer),
    store: boolean,
    background: boolean,
    service_tier: string,
    metadata: { type: 'object' },
    safety_identifier: orNull(string),
    prompt_cache_key: orNull(string),
  }),
);

const OF_ITEM = { item_id: { type: 'string', minLength: 1 }, output_index: integer };
const OF_CONTENT = { ...OF_ITEM, content_index: integer };
const OF_SUMMARY = { ...OF_ITEM, summary_index: integer };

const EVENTS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  'response.created': { response: RESPONSE },
  'response.queued': { response: RESPONSE },
  'response.in_progress': { response: RESPONSE },
  'response.completed': { response: RESPONSE },
  'response.failed': { response: RESPONSE },
  'response.incomplete': { response: RESPONSE },
  'response.output_item.added': { output_index: integer, item: orNull(ITEM) },
  'response.output_item.done': { output_index: integer, item: orNull(ITEM) },
  'response.content_part.added': { ...OF_CONTENT, part: PART },
  'response.content_part.done': { ...OF_CONTENT, part: PART },
  'response.output_text.delta': { ...OF_CONTENT, delta: string, logprobs: LOGPROBS },
  'response.output_text.done': { ...OF_CONTENT, text: string, logprobs: LOGPROBS },
  'response.output_text.annotation.added': { ...OF_CONTENT, annotation_index: integer, annotation: orNull(ANNOTATION) },
  'response.refusal.delta': { ...OF_CONTENT, delta: string },
  'response.refusal.done': { ...OF_CONTENT, refusal: string },
  'response.reasoning_text.delta': { ...OF_CONTENT, delta: string },
  'response.reasoning_text.done': { ...OF_CONTENT, text: string },
  'response.reasoning_summary_part.added': { ...OF_SUMMARY, part: PART },
  'response.reasoning_summary_part.done': { ...OF_SUMMARY, part: PART },
  'response.reasoning_summary_text.delta': { ...OF_SUMMARY, delta: string },
  'response.reasoning_summary_text.done': { ...OF_SUMMARY, text: string },
  'response.function_call_arguments.delta': { ...OF_ITEM, delta: string },
  'response.function_call_arguments.done': { ...OF_ITEM, arguments: string },
};

const response = ajv.compile(RESPONSE);
const events = new Map(
  Object.entries(EVENTS).map(([type, fields]) => [
    type,
    ajv.compile(object({ type: is(type), sequence_number: integer, ...fields })),
  ]),
);

export function assertResponse(value: unknown): void {
  check(response, value, 'response');
}

/** Every event of the stream, in order and numbered without a gap. */
export function assertEvents(list: readonly { readonly [name: string]: unknown }[]): void {
  for (const event of list) {
    const validate = events.get(String(event.type));
    assert.ok(validate, `an event of the type ${String(event.type)}`);
    check(validate, event, String(event.type));
  }
  assert.deepEqual(
    list.map((event) => event.sequence_number),
    list.map((_, index) => index),
  );
}

function check(validate: ValidateFunction, value: unknown, what: string): void {
  const found = validate(value) ? [] : (validate.errors ?? []);
  assert.deepEqual(
    found
      .filter(({ keyword }) => keyword !== 'if' && keyword !== 'anyOf')
      .map(({ instancePath, message }) => `${instancePath} ${message}`),
    [],
    what,
  );
}
