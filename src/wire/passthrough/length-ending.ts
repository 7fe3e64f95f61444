/**
 * How a passed-through stream is ended by this side, as its format ends at the length limit: its hold cannot grow any
 * further. Until then the provider's bytes pass untouched.
 */
import type { TokenCounts } from '../../core/usage.ts';
import type { Json } from '../../lib/json.ts';
import type { StreamPosition } from '../lane.ts';
import type { FrameView } from '../sse.ts';

/** One per stream that may have to be ended. Remembers just what the end needs. */
export interface LengthEnding {
  /** A frame that is forwarded. */
  observe(frame: FrameView): void;
  end(tokens: TokenCounts, position: StreamPosition | null): EndingFrames;
  /** The items that were forwarded, where a failure event repeats them. */
  output?(): Json | undefined;
}

export interface EndingFrames {
  /** Can be sent at once. */
  readonly closing: string;
  /** Tells the client that the answer is complete, so it waits for the settlement. */
  readonly terminal: string;
}
