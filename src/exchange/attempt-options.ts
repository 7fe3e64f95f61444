/** What an attempt is given, and whom it tells how it goes. */
import type { StreamSettings } from '../core/policy.ts';
import type { AttemptRecord } from '../core/request-record.ts';
import type { TokenCounts } from '../core/usage.ts';
import type { UpstreamCall } from '../provider/upstream.ts';
import type { Lane, Seen } from '../wire/lane.ts';
import type { AttemptEnd } from './attempt-end.ts';
import type { ElasticHold } from './elastic-hold.ts';
import type { ReplyRecorder } from './reply-recorder.ts';
import type { ResponseSink } from './response-sink.ts';

export interface AttemptOptions {
  /** These two carry the request, and are null when it will not be sent again. */
  readonly call: UpstreamCall | null;
  readonly lane: Lane | null;
  readonly stream: boolean;
  readonly response: ResponseSink;
  readonly recorder: ReplyRecorder | null;
  readonly keepAlive: Buffer;
  readonly streams: StreamSettings;
  /** Its times and what the provider says of itself are noted here. */
  readonly record: AttemptRecord;
  /** The gateway's own credentials at this provider, never to be repeated to a client. */
  secrets(): readonly string[];
  /** The provider has proved that it serves: its first valid event, or a whole answer. Called at most once. */
  onProof(firstByteMs: number): void;
  /** The first generated text of a stream goes to the client; without any, the end of its answer. Called at most once. */
  onFirstContent(): void;
  /** What `onFirstContent` was told of is on its way. */
  onContentSent(): void;
  /** The attempt has ended; called once, before anybody else hears of it. */
  onEnd(end: AttemptEnd): void;
  /** Something was thrown while the call was made or read: a fault of this program, for the operator's log. */
  onFault(error: unknown): void;
  /** Only where the hold grows with the stream; the lane can then end the answer. */
  readonly elastic: ElasticHold | null;
  /** The stream is about to be cut: resolves to what it is charged for. */
  cutShort(seen: Seen): Promise<TokenCounts>;
}
