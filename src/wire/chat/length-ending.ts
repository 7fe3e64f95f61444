/** Ends a passed-through chat stream with `finish_reason: "length"`. */
import { randomUUID } from 'node:crypto';
import { nowS } from '../../core/time.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { compact, isObject, type JsonObject } from '../../lib/json.ts';
import type { EndingFrames, LengthEnding } from '../passthrough/length-ending.ts';
import { type FrameView, parsedData } from '../sse.ts';
import { dataFrame } from '../translate/answer-writing.ts';
import { chatCommon, chatUsageFrame } from './usage-frame.ts';

export class ChatLengthEnding implements LengthEnding {
  readonly #publicModel: string;
  readonly #includeUsage: boolean;
  /** The members that every chunk repeats; null before the first. */
  #common: JsonObject | null = null;

  constructor(publicModel: string, includeUsage: boolean) {
    this.#publicModel = publicModel;
    this.#includeUsage = includeUsage;
  }

  observe(frame: FrameView): void {
    if (this.#common !== null) return;
    const chunk = parsedData(frame);
    if (!isObject(chunk)) return;
    this.#common = chatCommon(chunk);
  }

  end(tokens: TokenCounts): EndingFrames {
    const common = this.#common ?? { id: `chatcmpl-${randomUUID()}`, created: nowS() };
    // An answer that ends before its first chunk still says whose it is.
    const delta = this.#common === null ? { role: 'assistant', content: '' } : {};
    const usage = this.#includeUsage ? chatUsageFrame(common, this.#publicModel, tokens) : '';
    const finish = {
      ...common,
      object: 'chat.completion.chunk',
      model: this.#publicModel,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: 'length' }],
      usage: this.#includeUsage ? null : undefined,
    };
    return { closing: dataFrame(compact(finish)), terminal: `${usage}data: [DONE]\n\n` };
  }
}
