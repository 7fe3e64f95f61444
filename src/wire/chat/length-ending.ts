/** Ends a passed-through chat stream with `finish_reason: "length"`. */
import { randomUUID } from 'node:crypto';
import type { TokenCounts } from '../../core/usage.ts';
import { compact, isObject, type JsonObject } from '../../lib/json.ts';
import type { EndingFrames, LengthEnding } from '../passthrough/length-ending.ts';
import { type FrameView, parsedData } from '../sse.ts';
import { dataFrame } from '../translate/answer-writing.ts';
import { writeChatTokens } from './tokens.ts';

export class ChatLengthEnding implements LengthEnding {
  readonly #publicModel: string;
  readonly #includeUsage: boolean;
  /** What every chunk repeats; null before the first. */
  #common: JsonObject | null = null;

  constructor(publicModel: string, includeUsage: boolean) {
    this.#publicModel = publicModel;
    this.#includeUsage = includeUsage;
  }

  observe(frame: FrameView): void {
    if (this.#common !== null) return;
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return;
    const { id, created, service_tier, system_fingerprint } = chunk;
    this.#common = compact({ id, created, service_tier, system_fingerprint });
  }

  end(tokens: TokenCounts): EndingFrames {
    const common = this.#common ?? { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1_000) };
    const chunk = (choices: readonly object[], usage: object | null | undefined): string =>
      dataFrame(compact({ ...common, object: 'chat.completion.chunk', model: this.#publicModel, choices, usage }));
    // An answer that ends before its first chunk still says whose it is.
    const delta = this.#common === null ? { role: 'assistant', content: '' } : {};
    const choice = { index: 0, delta, logprobs: null, finish_reason: 'length' };
    const usage = this.#includeUsage ? chunk([], writeChatTokens(tokens)) : '';
    return { closing: chunk([choice], this.#includeUsage ? null : undefined), terminal: `${usage}data: [DONE]\n\n` };
  }
}
