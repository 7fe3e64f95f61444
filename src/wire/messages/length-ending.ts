/** Ends a passed-through message stream with `stop_reason: "max_tokens"`, its open block closed. */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject } from '../../lib/json.ts';
import type { EndingFrames, LengthEnding } from '../passthrough/length-ending.ts';
import { eventName, type FrameView, parsedData } from '../sse.ts';
import { eventFrame } from '../translate/answer-writing.ts';
import { writeMessagesTokens } from './tokens.ts';
import { messagesEnding } from './writer.ts';

const LOWER_A = 0x61;

export class MessagesLengthEnding implements LengthEnding {
  #openIndex: number | null = null;

  observe(frame: FrameView): void {
    // Most frames are deltas: `content_block_delta` is the one event whose name ends with an `a`.
    if (frame.text.charCodeAt(frame.eventEnd - 1) === LOWER_A && frame.eventEnd > frame.eventStart) return;
    const event = parsedData(frame);
    if (!isObject(event)) return;
    const type = event.type ?? eventName(frame);
    if (type === 'content_block_start' && typeof event.index === 'number') this.#openIndex = event.index;
    if (type === 'content_block_stop') this.#openIndex = null;
  }

  end(tokens: TokenCounts): EndingFrames {
    const stop =
      this.#openIndex === null
        ? ''
        : eventFrame('content_block_stop', { type: 'content_block_stop', index: this.#openIndex });
    const delta = messagesEnding({
      type: 'finish',
      reason: 'length',
      raw: { format: 'messages', value: 'max_tokens' },
    });
    const ending = { type: 'message_delta', delta, usage: writeMessagesTokens(tokens) };
    return {
      closing: stop + eventFrame('message_delta', ending),
      terminal: eventFrame('message_stop', { type: 'message_stop' }),
    };
  }
}
