/** A conversation of the golden matrix: what a client of each format sends, and what the provider answers. */
import type { Format } from '../../../src/core/endpoints.ts';
import { NO_TOKENS } from '../../../src/core/usage.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { AnswerSpec } from '../../support/upstreams/answers.ts';

/** A client of a format that is not named has no way to say it. */
export type Requests = Readonly<Partial<Record<Format, JsonObject>>>;

/** The same request said otherwise: what the provider is sent of it, or what the client is told. */
export interface Variant {
  readonly what: string;
  readonly requests: Requests;
}

export interface Conversation {
  readonly name: string;
  readonly requests: Requests;
  readonly answer: AnswerSpec;
  readonly variants?: readonly Variant[];
  /** The provider's answers to the turns that follow: the client sends back what it got and the results of its tools. */
  readonly later?: readonly AnswerSpec[];
  /** Each byte of the stream arrives by itself. */
  readonly byteByByte?: boolean;
}

export const TOKENS = { ...NO_TOKENS, input: 40, output: 12 };

/** A picture of one pixel. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const plainRequests = {
  chat: { model: 'public/model', messages: [{ role: 'user', content: 'Tell me.' }] },
  responses: { model: 'public/model', input: 'Tell me.' },
  messages: { model: 'public/model', max_tokens: 1024, messages: [{ role: 'user', content: 'Tell me.' }] },
} as const satisfies Requests;

/** The plain requests with these members added to each. */
export function plainWith(members: Requests): Requests {
  const { chat, responses, messages } = members;
  return {
    ...(chat === undefined ? {} : { chat: { ...plainRequests.chat, ...chat } }),
    ...(responses === undefined ? {} : { responses: { ...plainRequests.responses, ...responses } }),
    ...(messages === undefined ? {} : { messages: { ...plainRequests.messages, ...messages } }),
  };
}
