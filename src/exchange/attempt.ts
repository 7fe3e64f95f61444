/**
 * One upstream try. Content flows to the client as it arrives, with the client's back-pressure passed on to the
 * provider; the attempt itself ends with a value that says how, and never throws.
 */
import { type Condition, GatewayError } from '../core/conditions.ts';
import type { AttemptRecord, StopReason } from '../core/request-record.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import { DeadlineTimer, type HasDeadline } from '../lib/deadline-timer.ts';
import type { Node } from '../lib/linked-list.ts';
import {
  failureInAnswer,
  failureOfOwedAnswer,
  failureOfStatus,
  failureOfTransport,
  type ProviderFailure,
  redact,
} from '../provider/failure.ts';
import type {
  TransportFailure,
  Upstream,
  UpstreamHandle,
  UpstreamHeaders,
  UpstreamListener,
} from '../provider/upstream.ts';
import { UnfitAnswer } from '../wire/errors.ts';
import type { LaneFailure, LaneStep, LaneStream, Meter, Seen, StreamPosition } from '../wire/lane.ts';
import type { AttemptEnd } from './attempt-end.ts';
import type { AttemptOptions } from './attempt-options.ts';
import type { ElasticListener } from './elastic-hold.ts';

const ERROR_BODY_BYTES_MAX = 64 * 1_024;
const WHOLE_BODY_BYTES_MAX = 64 * 1_024 * 1_024;
const USELESS_BYTES_MAX = 64 * 1_024;
/** A stream ends before a frame that is more than this beyond what its hold covers. */
const UNCOVERED_BYTES_MAX = 1_024 * 1_024;
const FRAME_END = Buffer.from('\n\n');
const EVENT_STREAM = /^text\/event-stream *(?:;|$)/i;
const JSON_OR_UNNAMED = /^(?:application\/(?:[\w.-]+\+)?json *(?:;|$)|$)/i;

/** A timer for each stream would have to be moved with each of its chunks. */
const silences = new DeadlineTimer<Attempt>();
const RELEASED = 'the request was released before it was sent or answered';

export class Attempt implements UpstreamListener, ElasticListener, HasDeadline {
  readonly ended: Promise<AttemptEnd>;
  /** When the client is to get a sign of life. */
  deadlineMs = Number.POSITIVE_INFINITY;
  readonly #silence: Node<Attempt> | null;
  readonly #options: AttemptOptions;
  readonly #stream: LaneStream | null;
  #resolve: (end: AttemptEnd) => void = () => {};
  #handle: UpstreamHandle | null = null;
  #phase: 'waiting' | 'refused' | 'accepted' | 'ended' = 'waiting';
  #status = 0;
  #headers: UpstreamHeaders = { contentType: '', retryAfter: null, requestId: null };
  readonly #collected = new ByteCollector();
  /** If only its opening: from here on the answer is owed. */
  #contentSent = false;
  #generated = false;
  /** The client reads too slowly. */
  #blocked = false;
  /** The stream is ahead of its hold. */
  #outrun = false;
  /** The stream is being ended from this side. */
  #cutting = false;
  /** The bytes of a frame that was too large to be waited for: produced, but not metered. */
  #unreadBytes = 0;
  #uselessBytes = 0;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#stream = (options.stream && options.lane?.stream()) || null;
    this.#silence = options.stream ? silences.add(this) : null;
    if (options.elastic && this.#stream) {
      options.elastic.follow(this, () => this.#stream?.sample?.() ?? null);
      this.#stream.cover(options.elastic.coveredBytes);
    }
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  start(upstream: Upstream): void {
    const { call, record } = this.#options;
    if (this.#phase === 'ended') return;
    record.startedAt = performance.now();
    try {
      if (call === null) throw new Error(RELEASED);
      this.#handle = upstream.send(call, this);
    } catch (error) {
      this.#fault(error);
    }
  }

  /** The meter's reading so far; null before the provider accepted the call. */
  progress(): Meter | null {
    if (this.#phase !== 'accepted') return null;
    return this.#stream ? this.#stream.meter() : NOTHING_SEEN;
  }

  #seen(): Seen {
    const stream = this.#stream;
    if (!stream) return NOTHING_SEEN;
    const meter = stream.meter();
    return { ...meter, outputBytes: meter.outputBytes + this.#unreadBytes, sample: stream.sample?.() ?? null };
  }

  stop(reason: StopReason): void {
    if (this.#phase === 'ended') return;
    const accepted = this.#phase === 'accepted';
    const meter = accepted ? this.#seen() : null;
    this.#handle?.abort();
    this.#end({ kind: 'stopped', reason, accepted, meter, position: this.#position() });
  }

  onHeaders(status: number, headers: UpstreamHeaders): void {
    this.#status = status;
    this.#headers = headers;
    const { record } = this.#options;
    record.status = status;
    record.providerRequestId = headers.requestId;
    record.firstByteAt = performance.now();
    if (status < 200 || status > 299) {
      this.#phase = 'refused';
      return;
    }
    this.#phase = 'accepted';
    if (!(this.#stream ? EVENT_STREAM : JSON_OR_UNNAMED).test(headers.contentType)) {
      this.#break(
        'upstream_error',
        `The provider answered with something that is not ${this.#stream ? 'an event stream' : 'JSON'}.`,
      );
      return;
    }
    if (this.#stream) this.#armSilence(this.#options.streams.headersWaitMs);
  }

  onData(chunk: Buffer): void {
    if (this.#phase === 'ended') {
      // After its terminal frame a provider may still end its body properly, and the connection is kept; it may not go on.
      this.#uselessBytes += chunk.length;
      if (this.#uselessBytes > USELESS_BYTES_MAX) this.#handle?.abort();
      return;
    }
    try {
      if (this.#stream && this.#phase === 'accepted') this.#take(this.#stream.push(chunk));
      else this.#collect(chunk);
    } catch (error) {
      this.#fault(error);
    }
  }

  onEnd(): void {
    if (this.#phase === 'ended') return;
    try {
      if (this.#phase === 'refused') this.#endRefused();
      else if (this.#stream) this.#take(this.#stream.end());
      else this.#endWhole();
    } catch (error) {
      this.#fault(error);
    }
  }

  onFailure(transport: TransportFailure): void {
    if (this.#phase === 'ended') return;
    if (this.#phase === 'refused') {
      this.#endRefused();
      return;
    }
    try {
      // A stream that has given its finish reason is complete, however its connection ends.
      const last = this.#contentSent ? this.#stream?.end() : undefined;
      if (last?.state === 'complete') this.#take(last);
      else this.#fail(failureOfTransport(transport));
    } catch (error) {
      this.#fault(error);
    }
  }

  #take(step: LaneStep): void {
    const { forward } = step;
    if (forward) this.#forward(forward);
    if (step.state === 'complete') {
      const stream = this.#stream;
      if (!stream) return;
      const { contentType } = this.#headers;
      this.#prove();
      if (!this.#generated) this.#options.onFirstContent();
      const terminal = stream.terminal.bind(stream);
      this.#end({ kind: 'complete', contentType, meter: this.#seen(), position: this.#position(), terminal });
      // Otherwise a client that is slow, or gone, would keep the connection to the provider.
      if (stream.early?.()) this.#handle?.abort();
      else this.#handle?.resume();
    } else if (step.state === 'failed') {
      const { condition, message, kept, owed } = step.failure ?? BROKEN;
      if (owed) this.#fail(failureOfOwedAnswer(condition, message), this.#seen());
      else this.#break(condition, message, kept);
    } else {
      this.#reach(forward !== null);
    }
  }

  #forward(bytes: Buffer): void {
    const { response, recorder, streams } = this.#options;
    if (!response.headersSent) response.writeHead(this.#headers.contentType);
    this.#prove();
    this.#contentSent = true;
    // An answer may open long before its first text: a model that reasons says nothing meanwhile.
    const isFirst = !this.#generated && (this.#stream?.outputBytes ?? 0) > 0;
    if (isFirst) {
      this.#generated = true;
      this.#options.onFirstContent();
    }
    recorder?.add(bytes);
    const isTaken = response.write(bytes);
    if (isFirst) this.#options.onContentSent();
    if (!isTaken && !this.#blocked) {
      this.#blocked = true;
      this.#handle?.pause();
      response.onDrain(() => {
        this.#blocked = false;
        if (!this.#outrun) this.#handle?.resume();
      });
    }
    this.#armSilence(streams.keepAliveMs);
  }

  /** No output goes to the client that its hold does not cover; until it does, the provider waits. */
  #reach(forwarded: boolean): void {
    const { elastic } = this.#options;
    const stream = this.#stream;
    if (!elastic || !stream || this.#cutting) return;
    const { outputBytes, uncovered } = stream;
    // Where nothing was forwarded, the frame that is not complete yet may be too large.
    if (forwarded && !uncovered && elastic.passes(outputBytes)) return;
    const reached = elastic.reach(outputBytes, uncovered);
    stream.cover(elastic.coveredBytes);
    // Text that was counted meanwhile takes less of the hold than its bytes did.
    if (reached === 'carried' && uncovered) this.#take(stream.letOut());
    else if (reached === 'exhausted' || stream.uncoveredBytes > UNCOVERED_BYTES_MAX) this.exhausted();
    else if (reached === 'wait' && !this.#outrun) {
      this.#outrun = true;
      this.#handle?.pause();
    }
  }

  grown(): void {
    const { elastic } = this.#options;
    const stream = this.#stream;
    if (!elastic || !stream || this.#phase === 'ended' || this.#cutting) return;
    stream.cover(elastic.coveredBytes);
    const outrun = this.#outrun;
    this.#outrun = false;
    try {
      // What has waited may go beyond what was asked for.
      if (stream.uncovered) this.#take(stream.letOut());
    } catch (error) {
      this.#fault(error);
    }
    if (outrun && !this.#outrun && !this.#blocked) this.#handle?.resume();
  }

  exhausted(): void {
    // A stream that has not begun has no end either: it is cut when it begins.
    if (this.#phase === 'ended' || this.#cutting || !this.#stream) return;
    if (!this.#contentSent && !this.#stream.uncovered) return;
    if (!this.#stream.uncovered) this.#unreadBytes = this.#stream.uncoveredBytes;
    this.#cutting = true;
    this.#handle?.abort();
    void this.#cutShort(this.#stream);
  }

  async #cutShort(stream: LaneStream): Promise<void> {
    try {
      const tokens = await this.#options.cutShort(this.#seen());
      // The client may have gone meanwhile.
      if (this.#phase === 'ended') return;
      this.#take(stream.cutShort?.(tokens) ?? stream.end());
    } catch (error) {
      this.#fault(error);
    }
  }

  /** After this much silence the client gets a sign of life; the first one may have to send the 200. */
  #armSilence(ms: number): void {
    if (ms === 0) this.deadlineMs = Number.POSITIVE_INFINITY;
    else silences.set(this, ms);
  }

  expire(): void {
    const { response, streams, keepAlive } = this.#options;
    if (!response.headersSent) response.writeHead(this.#headers.contentType, true);
    // Never into the middle of a frame, and not to a client that has enough to read.
    if (streams.keepAliveMs > 0 && !this.#blocked && this.#betweenFrames()) response.write(keepAlive);
    this.#armSilence(streams.keepAliveMs);
  }

  #collect(chunk: Buffer): void {
    const max = this.#phase === 'refused' ? ERROR_BODY_BYTES_MAX : WHOLE_BODY_BYTES_MAX;
    if (this.#collected.length + chunk.length > max) {
      this.#handle?.abort();
      if (this.#phase === 'refused') this.#endRefused();
      else this.#break('upstream_error', 'The answer of the provider is too large.');
      return;
    }
    this.#collected.add(chunk);
  }

  #endRefused(): void {
    const body = this.#collected.whole().toString('utf8');
    this.#fail(failureOfStatus(this.#status, body, this.#headers.retryAfter, this.#options.secrets()));
  }

  #endWhole(): void {
    const { lane } = this.#options;
    if (lane === null) {
      this.#fault(new Error(RELEASED));
      return;
    }
    try {
      const { body, meter, sample } = lane.whole(this.#collected.whole());
      this.#prove();
      this.#end({
        kind: 'complete',
        contentType: this.#headers.contentType || 'application/json',
        meter: { ...meter, sample: sample ?? null },
        position: null,
        terminal: () => body,
      });
    } catch (error) {
      if (error instanceof UnfitAnswer) this.#fail(failureOfOwedAnswer('upstream_error', error.message), error.meter);
      else if (error instanceof GatewayError) this.#break('upstream_error', error.message, error.kept);
      else this.#break('upstream_error', 'The provider returned an answer that cannot be read.');
    }
  }

  #prove(): void {
    if (!this.#contentSent) this.#options.onProof(firstByteMs(this.#options.record));
  }

  /** The attempt has to end all the same, or its hold would not. */
  #fault(error: unknown): void {
    this.#options.onFault(error);
    this.#break('upstream_error', 'The answer of the provider could not be read.');
  }

  #break(condition: Condition, message: string, kept = message): void {
    this.#handle?.abort();
    const secrets = this.#options.secrets();
    this.#fail(failureInAnswer(condition, redact(message, secrets), redact(kept, secrets)));
  }

  #fail(failure: ProviderFailure, owed: Seen | null = null): void {
    const meter = owed ?? (this.#contentSent && this.#stream ? this.#seen() : null);
    this.#end({ kind: 'failed', ...failure, meter, position: this.#position() });
  }

  #betweenFrames(): boolean {
    return this.#stream?.betweenFrames?.() ?? true;
  }

  #position(): StreamPosition | null {
    return this.#stream?.position?.() ?? null;
  }

  #end(end: AttemptEnd): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    // What follows in-band must not become part of a frame that was left unfinished.
    if (end.kind !== 'complete' && this.#options.response.headersSent && !this.#betweenFrames())
      this.#options.response.write(FRAME_END);
    if (this.#silence) silences.remove(this.#silence);
    try {
      this.#options.onEnd(end);
    } catch (error) {
      this.#options.onFault(error);
    } finally {
      this.#resolve(end);
    }
  }
}

function firstByteMs({ startedAt, firstByteAt }: AttemptRecord): number {
  return (firstByteAt ?? 0) - (startedAt ?? 0);
}

const BROKEN: LaneFailure = { condition: 'upstream_error', message: 'The provider broke its stream.' };
const NOTHING_SEEN: Meter = { reported: null, reportedFinal: false, outputBytes: 0 };
