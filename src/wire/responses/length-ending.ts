/**
 * Ends a passed-through responses stream with `response.incomplete`. That event repeats all items, so what was forwarded
 * is read into a stream that is rewritten, which then closes what is open under the provider's own ids. Frames are kept
 * as they are up to a bound and read together, so that a short stream costs no parsing.
 */
import type { TokenCounts } from '../../core/usage.ts';
import { isObject, type Json, parseJson } from '../../lib/json.ts';
import type { LaneStream, StreamPosition } from '../lane.ts';
import type { EndingFrames, LengthEnding } from '../passthrough/length-ending.ts';
import type { FrameView } from '../sse.ts';
import { eventFrame } from '../translate/answer-writing.ts';

const KEPT_BYTES_MAX = 64 * 1_024;

export class ResponsesLengthEnding implements LengthEnding {
  readonly #rewritten: LaneStream;
  #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(rewritten: LaneStream) {
    this.#rewritten = rewritten;
  }

  observe({ bytes, start, end }: FrameView): void {
    // A copy: the frame lies in a buffer of the connection, which would be kept as a whole.
    this.#kept.push(Buffer.from(bytes.subarray(start, end)));
    this.#keptBytes += end - start;
    if (this.#keptBytes > KEPT_BYTES_MAX) this.#read();
  }

  end(tokens: TokenCounts, position: StreamPosition | null): EndingFrames {
    this.#read();
    const step = this.#rewritten.cutShort?.(tokens, position ?? undefined);
    const terminal = this.#rewritten.terminal().toString();
    return { closing: step?.forward?.toString() ?? '', terminal: position ? repeating(terminal, position) : terminal };
  }

  output(): Json | undefined {
    this.#read();
    return this.#rewritten.position?.()?.response().output;
  }

  /** The stream's own writing of it is not sent: the client has the provider's own bytes. */
  #read(): void {
    this.#rewritten.push(Buffer.concat(this.#kept, this.#keptBytes));
    this.#kept = [];
    this.#keptBytes = 0;
  }
}

/** The event with what the provider's own `response.created` said, besides how it ended. */
function repeating(terminal: string, position: StreamPosition): string {
  const event = parseJson(terminal.slice(terminal.indexOf('data: ') + 'data: '.length));
  if (!isObject(event) || !isObject(event.response)) return terminal;
  const { status, incomplete_details, output, usage, completed_at } = event.response;
  const response = { ...position.response(), status, incomplete_details, output, usage, completed_at };
  return eventFrame(String(event.type), { ...event, response });
}
