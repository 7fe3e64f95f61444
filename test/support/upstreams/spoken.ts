/** What a provider says in each format, in the smallest complete form, and what a client asks it. */
import type { Format } from '../../../src/core/endpoints.ts';

export const FORMAT_NAMES: readonly Format[] = ['chat', 'responses', 'messages'];
export const UPSTREAM_MODEL = 'upstream-model';
/** What every complete answer here reports. */
export const INPUT_TOKENS = 21;
export const OUTPUT_TOKENS = 8;

export interface Speech {
  /** Relative to the key's origin. */
  readonly path: string;
  request(extra?: object): object;
  /** The frames before the first text. */
  readonly opening: readonly string[];
  text(text: string): string;
  /** From behind the last text to the end; the last frame is the terminal one. */
  readonly closing: readonly string[];
  /** The error as a provider sends it in-band. */
  readonly overloaded: string;
  whole(text: string): object;
  /** How the failure of a stream that has begun looks to a client. */
  readonly inBandFailure: RegExp;
  /** What tells a client that the answer is complete. */
  readonly terminal: RegExp;
  /** What keeps a silent stream alive. */
  readonly keepAlive: RegExp;
}

function chatChunk(fields: object): string {
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: UPSTREAM_MODEL, ...fields };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function chatDelta(delta: object, finish: string | null = null): string {
  return chatChunk({ choices: [{ index: 0, delta, finish_reason: finish }] });
}

const CHAT_USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
};

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: UPSTREAM_MODEL, stop_sequence: null };

function responseObject(status: string, extra: object): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    completed_at: status === 'completed' ? 2 : null,
    background: false,
    error: null,
    frequency_penalty: 0,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    model: UPSTREAM_MODEL,
    output: [],
    parallel_tool_calls: true,
    presence_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    ...extra,
  };
}

const RESPONSES_USAGE = {
  input_tokens: INPUT_TOKENS,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: OUTPUT_TOKENS,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
};

function outputMessage(text: string, status: string): object {
  const content = status === 'completed' ? [{ type: 'output_text', text, annotations: [], logprobs: [] }] : [];
  return { id: 'msg_1', type: 'message', role: 'assistant', status, content };
}

const PART = { item_id: 'msg_1', output_index: 0, content_index: 0 };

export const SPEECH: Readonly<Record<Format, Speech>> = {
  chat: {
    path: '/v1/chat/completions',
    request: (extra = {}) => ({ model: 'tested', messages: [{ role: 'user', content: 'Hello' }], ...extra }),
    opening: [chatDelta({ role: 'assistant', content: '' })],
    text: (text) => chatDelta({ content: text }),
    closing: [chatDelta({}, 'stop'), chatChunk({ choices: [], usage: CHAT_USAGE }), 'data: [DONE]\n\n'],
    overloaded:
      'data: {"error":{"message":"The engine is overloaded","type":"overloaded_error","code":"overloaded"}}\n\n',
    whole: (text) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: UPSTREAM_MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content: text, refusal: null }, finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    }),
    inBandFailure: /^data: \{"error":\{/m,
    terminal: /data: \[DONE\]/,
    keepAlive: /^:/m,
  },
  responses: {
    path: '/v1/responses',
    request: (extra = {}) => ({ model: 'tested', input: 'Hello', ...extra }),
    opening: [
      event('response.created', { sequence_number: 0, response: responseObject('in_progress', {}) }),
      event('response.in_progress', { sequence_number: 1, response: responseObject('in_progress', {}) }),
      event('response.output_item.added', {
        sequence_number: 2,
        output_index: 0,
        item: outputMessage('', 'in_progress'),
      }),
      event('response.content_part.added', {
        sequence_number: 3,
        ...PART,
        part: { type: 'output_text', text: '', annotations: [], logprobs: [] },
      }),
    ],
    text: (text) => event('response.output_text.delta', { sequence_number: 4, ...PART, delta: text, logprobs: [] }),
    closing: [
      event('response.output_text.done', { sequence_number: 5, ...PART, text: 'Hi', logprobs: [] }),
      event('response.output_item.done', {
        sequence_number: 6,
        output_index: 0,
        item: outputMessage('Hi', 'completed'),
      }),
      event('response.completed', {
        sequence_number: 7,
        response: responseObject('completed', { output: [outputMessage('Hi', 'completed')], usage: RESPONSES_USAGE }),
      }),
    ],
    overloaded: event('error', {
      sequence_number: 0,
      code: 'server_is_overloaded',
      message: 'Overloaded',
      param: null,
    }),
    whole: (text) =>
      responseObject('completed', { output: [outputMessage(text, 'completed')], usage: RESPONSES_USAGE }),
    inBandFailure: /^event: response\.failed$/m,
    terminal: /event: response\.completed/,
    keepAlive: /^:/m,
  },
  messages: {
    path: '/v1/messages',
    request: (extra = {}) => ({
      model: 'tested',
      max_tokens: 1_000,
      messages: [{ role: 'user', content: 'Hello' }],
      ...extra,
    }),
    opening: [
      event('message_start', {
        message: {
          ...MESSAGE,
          content: [],
          stop_reason: null,
          usage: { input_tokens: INPUT_TOKENS, output_tokens: 1 },
        },
      }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ],
    text: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    closing: [
      event('content_block_stop', { index: 0 }),
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: OUTPUT_TOKENS },
      }),
      event('message_stop', {}),
    ],
    overloaded: event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    whole: (text) => ({
      ...MESSAGE,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: { input_tokens: INPUT_TOKENS, output_tokens: OUTPUT_TOKENS },
    }),
    inBandFailure: /^event: error$/m,
    terminal: /event: message_stop/,
    keepAlive: /^event: ping$/m,
  },
};

/** A complete stream that says this. */
export function spoken(format: Format, ...texts: readonly string[]): readonly string[] {
  const { opening, text, closing } = SPEECH[format];
  return [...opening, ...texts.map(text), ...closing];
}
