/** Streams as providers send them, and the way a test drives a lane through them. */

import { isObject, type JsonObject } from '../../../src/lib/json.ts';
import type { RequestInfo } from '../../../src/wire/format.ts';
import { FORMATS } from '../../../src/wire/formats.ts';
import type { LaneFailure, LaneStep, LaneStream, Meter } from '../../../src/wire/lane.ts';

export type FormatName = keyof typeof FORMATS;

export const UPSTREAM_MODEL = 'upstream-2026-01';
export const PUBLIC_MODEL = 'acme/größe "1"';

function chatChunk(delta: object, finish: string | null = null, extra: object = {}): string {
  const choice = { index: 0, delta, logprobs: null, finish_reason: finish };
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, choices: [choice], usage: null, ...extra })}\n\n`;
}

export const CHAT_TEXT = 'Grüße, 世界 😀 — "quoted" \\ and model: "model":"x"\n';
export const CHAT_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

export function chatUsageChunk(usage: object = CHAT_USAGE): string {
  return `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, choices: [], usage })}\n\n`;
}

export const CHAT_CONTENT: readonly string[] = [
  ': OPENROUTER PROCESSING\n\n',
  chatChunk({ role: 'assistant', content: '' }),
  chatChunk({ content: CHAT_TEXT }),
  ': comment\n\n',
  chatChunk({ tool_calls: [{ index: 0, id: 't1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] }),
  chatChunk({}, 'stop'),
];
export const CHAT_OUTPUT_BYTES = Buffer.byteLength(CHAT_TEXT) + Buffer.byteLength('f{"a":1}');
export const CHAT_STREAM: readonly string[] = [...CHAT_CONTENT, chatUsageChunk(), 'data: [DONE]\n\n'];

function event(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

/** A response with every field that the public schema requires, so that a provider's bytes can pass. */
export function completeResponse(status: string, extra: object = {}): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 7,
    completed_at: status === 'completed' ? 8 : null,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    model: UPSTREAM_MODEL,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    presence_penalty: 0,
    frequency_penalty: 0,
    prompt_cache_key: null,
    reasoning: null,
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [{ type: 'function', name: 'f', description: null, parameters: { model: 'inner' }, strict: false }],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    ...extra,
  };
}

export const RESPONSES_USAGE = {
  input_tokens: 50,
  input_tokens_details: { cached_tokens: 10, cache_write_tokens: 0 },
  output_tokens: 9,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 59,
};
const RESPONSES_TEXT = 'Hällo "response":{"model":"x"}';
const PART = { item_id: 'm', output_index: 0, content_index: 0 };
const outputText = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const RESPONSES_ITEM = {
  id: 'm',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [outputText(RESPONSES_TEXT)],
  model: 'item-model',
};
export const RESPONSES_STREAM: readonly string[] = [
  event('response.created', { sequence_number: 0, response: completeResponse('in_progress') }),
  event('response.in_progress', { sequence_number: 1, response: completeResponse('in_progress') }),
  event('response.output_item.added', {
    sequence_number: 2,
    output_index: 0,
    item: { id: 'm', type: 'message', status: 'in_progress', role: 'assistant', content: [], model: 'item-model' },
  }),
  event('response.content_part.added', { sequence_number: 3, ...PART, part: outputText('') }),
  event('response.output_text.delta', { sequence_number: 4, ...PART, delta: 'Hällo ', logprobs: [] }),
  event('response.output_text.delta', { sequence_number: 5, ...PART, delta: RESPONSES_TEXT.slice(6), logprobs: [] }),
  event('response.output_text.done', { sequence_number: 6, ...PART, text: RESPONSES_TEXT, logprobs: [] }),
  event('response.content_part.done', { sequence_number: 7, ...PART, part: outputText(RESPONSES_TEXT) }),
  event('response.output_item.done', { sequence_number: 8, output_index: 0, item: RESPONSES_ITEM }),
  event('response.completed', {
    sequence_number: 9,
    response: completeResponse('completed', { output: [RESPONSES_ITEM], usage: RESPONSES_USAGE }),
  }),
];
export const RESPONSES_OUTPUT_BYTES = Buffer.byteLength(RESPONSES_TEXT);

export const MESSAGES_STREAM: readonly string[] = [
  event('message_start', {
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: UPSTREAM_MODEL,
      content: [],
      stop_reason: null,
      usage: {
        input_tokens: 11,
        cache_creation_input_tokens: 40,
        cache_read_input_tokens: 7,
        cache_creation: { ephemeral_5m_input_tokens: 15, ephemeral_1h_input_tokens: 25 },
        output_tokens: 1,
      },
    },
  }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('ping', {}),
  event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hm\n' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Füße' } }),
  event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '{"model":"x"}' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 33 } }),
  event('message_stop', {}),
];
export const MESSAGES_OUTPUT_BYTES = Buffer.byteLength('hm\nFüße{"model":"x"}');

export const STREAMS: Readonly<Record<FormatName, readonly string[]>> = {
  chat: CHAT_STREAM,
  responses: RESPONSES_STREAM,
  messages: MESSAGES_STREAM,
};

const MINIMAL: Readonly<Record<FormatName, object>> = {
  chat: { model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'hi' }] },
  responses: { model: PUBLIC_MODEL, input: 'hi' },
  messages: { model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'hi' }] },
};

export function asObject(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError('not an object');
  return value;
}

export function infoOf(format: FormatName, body: object, betas = false): RequestInfo {
  const bytes = Buffer.from(JSON.stringify(body));
  return FORMATS[format].validateRequest(asObject(JSON.parse(bytes.toString())), bytes, { betas });
}

/** The lane for a minimal request with these extra fields. */
export function laneFor(format: FormatName, extra: object = {}, publicModel = PUBLIC_MODEL, mayBeCut = false) {
  const bytes = Buffer.from(JSON.stringify({ ...MINIMAL[format], ...extra }));
  const body = asObject(JSON.parse(bytes.toString()));
  const info = FORMATS[format].validateRequest(body, bytes, { betas: false });
  return FORMATS[format].passthrough({ bytes, body, info, publicModel, mayBeCut });
}

export interface Run {
  readonly forwarded: string;
  readonly terminal: string | null;
  readonly state: LaneStep['state'];
  readonly failure: LaneFailure | null;
  readonly meter: Meter;
}

/** Pushes the chunks and ends the stream, as a caller would. */
export function run(stream: LaneStream, chunks: readonly (Buffer | string)[]): Run {
  const forwarded: Buffer[] = [];
  let step: LaneStep = { forward: null, state: 'waiting', failure: null };
  const take = (next: LaneStep): void => {
    if (next.forward !== null) forwarded.push(Buffer.from(next.forward));
    step = next;
  };
  for (const chunk of chunks) take(stream.push(Buffer.from(chunk)));
  take(stream.end());
  const { state, failure } = step;
  const terminal = state === 'complete' ? stream.terminal().toString() : null;
  return { forwarded: Buffer.concat(forwarded).toString(), terminal, state, failure, meter: stream.meter() };
}

/** The same text with every upstream model id at its own path written as the public one. */
export function published(text: string): string {
  return text.replaceAll(JSON.stringify(UPSTREAM_MODEL), JSON.stringify(PUBLIC_MODEL));
}
