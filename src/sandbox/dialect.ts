import type { Answer } from './answer.ts';
import type { JsonObject } from './json.ts';
import type { Prompt, Question } from './prompt.ts';

/** One server-sent event. `content` is set where it carries a token: these are the chunks that directives count. */
export interface StreamEvent {
  readonly text: string;
  readonly content: boolean;
}

/** Everything that a format writes into its answer. */
export interface Reply {
  readonly prompt: Prompt;
  readonly answers: readonly Answer[];
  readonly inputTokens: number;
  /** The output of all answers, and the part of it that is thinking. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly reportUsage: boolean;
  /** Hexadecimal digits from the digest of the request: all ids derive from it. */
  readonly digest: string;
  readonly createdS: number;
}

export interface Failure {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly requestId: string;
}

/** How one wire format is read and written. Pure. */
export interface Dialect {
  /** Throws `BadRequest`. */
  read(body: JsonObject): Question;
  writeWhole(reply: Reply): string;
  writeStream(reply: Reply): Iterable<StreamEvent>;
  writeFailure(failure: Failure): string;
  /** The response header in which this format's clients look for the request's id. */
  readonly requestIdHeader: string;
}

const FORMAT_A_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [429, 'rate_limit_error'],
]);

/** The error body that chat and responses share. */
export function writeFormatAFailure(failure: Failure): string {
  const byClass = failure.status >= 500 ? 'server_error' : 'invalid_request_error';
  const type = FORMAT_A_TYPES.get(failure.status) ?? byClass;
  return JSON.stringify({ error: { message: failure.message, type, param: failure.param, code: null } });
}
