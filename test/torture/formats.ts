/** How a client asks in each format, and the usage of an answer that it has seen complete. */
import type { Format } from '../../src/core/endpoints.ts';
import { isObject, type Json, type JsonObject, objectAt } from '../../src/lib/json.ts';
import { events } from '../support/requests.ts';
import type { TokensSeen } from './book.ts';

export interface Question {
  readonly model: string;
  readonly text: string;
  readonly stream: boolean;
  readonly maxTokens?: number | undefined;
}

interface ClientFormat {
  readonly path: string;
  body(question: Question): object;
  /** Null where the answer is not complete. */
  usage(answer: string, stream: boolean): TokensSeen | null;
}

export const FORMATS: Readonly<Record<Format, ClientFormat>> = {
  chat: {
    path: '/v1/chat/completions',
    body: ({ model, text, stream, maxTokens }) => ({
      model,
      messages: [{ role: 'user', content: text }],
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
    usage: (answer, stream) => {
      if (!stream) return tokensOf(parsed(answer).usage);
      const all = events(answer);
      if (all.at(-1) !== '[DONE]') return null;
      return tokensOf(all.filter(isObject).findLast(({ usage }) => isObject(usage))?.usage);
    },
  },
  responses: {
    path: '/v1/responses',
    body: ({ model, text, stream, maxTokens }) => ({
      model,
      input: text,
      ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
      ...(stream ? { stream: true } : {}),
    }),
    usage: (answer, stream) => {
      if (!stream) return tokensOf(parsed(answer).usage);
      const last = events(answer).at(-1);
      if (!isObject(last) || (last.type !== 'response.completed' && last.type !== 'response.incomplete')) return null;
      return tokensOf(objectAt(last, 'response')?.usage);
    },
  },
  messages: {
    path: '/v1/messages',
    body: ({ model, text, stream, maxTokens = 1_000 }) => ({
      model,
      messages: [{ role: 'user', content: text }],
      max_tokens: maxTokens,
      ...(stream ? { stream: true } : {}),
    }),
    usage: (answer, stream) => {
      if (!stream) return tokensOf(parsed(answer).usage);
      const all = events(answer).filter(isObject);
      if (all.at(-1)?.type !== 'message_stop') return null;
      // What a later event says replaces what the first one said.
      let usage: JsonObject = {};
      for (const event of all) {
        usage = { ...usage, ...objectAt(objectAt(event, 'message') ?? event, 'usage') };
      }
      return tokensOf(usage);
    },
  },
};

export const FORMAT_NAMES = ['chat', 'responses', 'messages'] as const;

function parsed(answer: string): JsonObject {
  const value: unknown = JSON.parse(answer);
  return isObject(value) ? value : {};
}

/** Whatever the format calls them. Caches cost what input costs here. */
function tokensOf(usage: Json | undefined): TokensSeen | null {
  if (!isObject(usage)) return null;
  const count = (...names: readonly string[]): number =>
    names.reduce((sum, name) => sum + (typeof usage[name] === 'number' ? usage[name] : 0), 0);
  return {
    input: count('prompt_tokens', 'input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
    output: count('completion_tokens', 'output_tokens'),
  };
}
