/**
 * A lane carries one attempt between the client's format and the target's: `passthrough` where they are the same,
 * `translate` where they differ. Lanes are pure state machines: bytes in, bytes and metering out, no I/O.
 */
import type { Condition } from '../core/conditions.ts';
import type { ReportedTerms } from '../core/price-terms.ts';
import type { TokenCounts } from '../core/usage.ts';
import type { JsonObject } from '../lib/json.ts';
import type { EncodedTokens } from './encoded-output.ts';
import type { OutputSample } from './output-sample.ts';

/** Members that the upstream request must have, whatever the client sent. */
export interface UpstreamParams {
  readonly upstreamModel: string;
  /** The effective output limit; always sent, in the field that the target understands. */
  readonly outputLimit: number;
}

/** Whole, or pieces that follow each other. */
export type BodyBytes = Buffer | readonly Buffer[];

export function wholeBytes(body: BodyBytes): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body);
}

export interface Lane {
  readonly kind: 'passthrough' | 'translate';
  /** The fields that were left out of the request, for the operator's log. */
  readonly warnings?: readonly string[];
  /** The body to send upstream; a large one in pieces. */
  requestBody(order: UpstreamParams): BodyBytes;
  /**
   * Reads a complete unstreamed 2xx answer and returns what the client gets.
   * Throws `GatewayError('upstream_error')` where the bytes are not an answer of the target's format, and `UnfitAnswer`
   * where they are not what the client asked for.
   */
  whole(answer: Buffer): WholeAnswer;
  /** One per attempt. */
  stream(): LaneStream;
}

/** A lane that can leave something out always says what. */
export interface LaneWithWarnings extends Lane {
  readonly warnings: readonly string[];
}

export interface WholeAnswer {
  readonly body: Buffer;
  readonly meter: Meter;
  /** The same as for a stream; only where no possible tokens were reported. */
  readonly sample?: OutputSample | null;
}

/** The meter's reading; metering is a return value of the lane, not a side effect. */
export interface Meter {
  /** The provider's report, made sane (non-negative safe integers); null where it reported none or nonsense. */
  readonly reported: TokenCounts | null;
  /**
   * Whether `reported` covers the whole answer. A messages stream reports its input at the start: when it is cut
   * after that, `reported` holds the input that is known, and its output is not to be trusted.
   */
  readonly reportedFinal: boolean;
  /** Why a report of the provider is not charged by: it cannot be. */
  readonly disbelieved?: string | undefined;
  /** UTF-8 bytes of generated text, reasoning, names of called tools and their arguments seen so far: the basis of a local count. */
  readonly outputBytes: number;
  /** Beside them: what has come of sound and images; absent where there is none. */
  readonly encoded?: EncodedTokens;
  /** Other reports of the answer that its price depends on; absent where there are none. */
  readonly terms?: ReportedTerms;
}

/** The meter's reading, and the beginning of the text that it has seen, if that may have to be counted. */
export interface Seen extends Meter {
  readonly sample?: OutputSample | null;
}

/**
 * The unit of forwarding is the complete SSE frame. `push` and `end` return the bytes to send to the client at once;
 * the terminal part (what shows the client that the answer is complete) is kept back until the caller has settled,
 * and is then taken with `terminal()`.
 */
export interface LaneStream {
  /** Feed upstream bytes as they arrive. */
  push(chunk: Buffer): LaneStep;
  /**
   * From now on no frame passes with which the output would come to more than this many bytes: it waits here, with all that
   * follows. It has been metered; nothing else knows of it yet. Without a call everything passes.
   */
  cover(outputBytes: number): void;
  /** How many bytes wait because they are not covered, or may turn out not to be. */
  readonly uncoveredBytes: number;
  /** Whether a whole frame waits. */
  readonly uncovered: boolean;
  /** The frames that waited, as far as they are covered now. */
  letOut(): LaneStep;
  /** The upstream closed its body cleanly. After it, `state` is never `open`. */
  end(): LaneStep;
  /**
   * The bytes that complete the answer for the client. Only when the state is `complete`; called once. `counted`: what the
   * answer comes to where nobody has reported it; the client sees that as its usage.
   */
  terminal(counted?: TokenCounts | null): Buffer;
  meter(): Meter;
  /** The same as in the meter's reading, which is an object of its own each time. */
  readonly outputBytes: number;
  /** The beginning of the generated text, to be counted where nobody reports its tokens. */
  sample?(): OutputSample | null;
  /**
   * Ends the answer here, as its format ends at the length limit; the state is `complete` after it. Absent where the
   * stream was not prepared for it. `position`: where the client's stream is, if it is not where this one is.
   */
  cutShort?(tokens: TokenCounts, position?: StreamPosition): LaneStep;
  /** The lane has ended the answer before the provider did: the rest of it is not needed. */
  early?(): boolean;
  /** False while what was forwarded ends inside a frame: nothing may be put in there. Absent where that cannot be. */
  betweenFrames?(): boolean;
  /** The position of the stream, for formats whose failure event must fit into the sequence (responses). */
  position?(): StreamPosition | null;
}

export interface StreamPosition {
  readonly nextSequence: number;
  /** The response as the client has seen it so far, with every field; its id is empty where none has been announced. */
  response(): JsonObject;
}

export interface LaneStep {
  /** The bytes for the client, now; null when there are none. */
  readonly forward: Buffer | null;
  /**
   * `waiting`: no valid event yet. `open`: content may follow. `complete`: the answer is complete, settle and send
   * `terminal()`. `failed`: the provider reported an error in the stream, or broke its format or ended early.
   */
  readonly state: 'waiting' | 'open' | 'complete' | 'failed';
  /** Only with `failed`. */
  readonly failure: LaneFailure | null;
}

export interface LaneFailure {
  readonly condition: Condition;
  /** For the client; free of the provider's secrets as far as the lane can know. */
  readonly message: string;
  /** The part of the message that may be kept where it has words of the provider, which can quote the conversation. */
  readonly kept?: string | undefined;
  /** The provider has done its part: the answer is owed, and nothing is held against the target. */
  readonly owed?: boolean;
}

/** Two steps as one. */
export function followedBy(first: LaneStep, second: LaneStep): LaneStep {
  if (first.forward === null) return second;
  const forward = second.forward === null ? first.forward : Buffer.concat([first.forward, second.forward]);
  return { ...second, forward };
}
