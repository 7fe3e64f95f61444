/**
 * Ends a passed-through responses stream with `response.incomplete`. That event repeats all items, so what was forwarded
 * is read into a stream that is rewritten, which then closes what is open under the provider's own ids. Frames are kept
 * as they are up to a bound and read together, so that a short stream costs no parsing.
 */
import type { TokenCounts } from '../../core/usage.ts';
import type { LaneStream, StreamPosition } from '../lane.ts';
import type { EndingFrames, LengthEnding } from '../passthrough/length-ending.ts';
import type { FrameView } from '../sse.ts';

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
    return { closing: step?.forward?.toString() ?? '', terminal: this.#rewritten.terminal().toString() };
  }

  /** What the stream writes of it is not sent: the client has the provider's own bytes. */
  #read(): void {
    this.#rewritten.push(Buffer.concat(this.#kept, this.#keptBytes));
    this.#kept = [];
    this.#keptBytes = 0;
  }
}
