/**
 * The lane to a target of the client's own format: the provider's bytes, untouched except for the edits that billing
 * and the contract need. What is special about a format comes from its observer.
 */
import type { TokenCounts } from '../../core/usage.ts';
import { ByteCollector } from '../../lib/byte-collector.ts';
import type { PassthroughRequest } from '../format.ts';
import { TOO_MANY_VALUES } from '../json/answer-values.ts';
import { type Change, change, changeInPieces } from '../json/edit.ts';
import {
  followedBy,
  type Lane,
  type LaneFailure,
  type LaneStep,
  type LaneStream,
  type Meter,
  type StreamPosition,
  type UpstreamParams,
} from '../lane.ts';
import type { OutputSample } from '../output-sample.ts';
import {
  eventName,
  FrameSplitter,
  type FrameView,
  frameOf,
  hasTooManyValues,
  joinedData,
  PARTIAL_MAX,
} from '../sse.ts';
import { brokenStream, failureInPlainText } from '../upstream-failure.ts';
import type { LengthEnding } from './length-ending.ts';
import { EditList } from './observer.ts';
import type { StreamObserver, Verdict } from './stream-observer.ts';
import { type AnswerFormat, wholeAnswer } from './whole-answer.ts';

/** The parts that one format adds to the lane. */
export interface PassthroughFormat extends AnswerFormat {
  /** The changes that the request body needs besides `model`. */
  changes(request: PassthroughRequest, order: UpstreamParams): Change[];
  /** `outputLimit`: as it was sent upstream. */
  observer(request: PassthroughRequest, outputLimit: number | null): StreamObserver;
  /** For a stream that may have to be ended by this side. */
  lengthEnding(request: PassthroughRequest, outputLimit: number | null): LengthEnding;
}

/** A frame that must be complete before the client gets any of it may grow to this. */
const KEPT_MAX = 16 * 1024 * 1024;
/** A smaller body costs less to copy than to send in pieces. */
const COPIED_BYTES_MAX = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export function passthroughLane(request: PassthroughRequest, format: PassthroughFormat): Lane {
  let outputLimit: number | null = null;
  return {
    kind: 'passthrough',
    requestBody(order) {
      outputLimit = order.outputLimit;
      const changes = format.changes(request, order);
      if (request.body.model !== order.upstreamModel) {
        changes.push({ path: ['model'], json: JSON.stringify(order.upstreamModel) });
      }
      const inPieces = request.bytes.length > COPIED_BYTES_MAX;
      return (inPieces ? changeInPieces : change)(request.bytes, changes, request.layout);
    },
    whole: (answer) => wholeAnswer(answer, request, format),
    stream: () => {
      const ending = request.mayBeCut ? format.lengthEnding(request, outputLimit) : null;
      return new PassthroughStream(format.observer(request, outputLimit), ending);
    },
  };
}

type State = LaneStep['state'];

/** The first frame that the hold does not cover, as the client would get it, and what has come behind it. */
interface UncoveredFrame {
  readonly verdict: Verdict;
  readonly bytes: Buffer;
  readonly behind: ByteCollector;
  /** The upstream has closed its body. */
  closed: boolean;
}

export class PassthroughStream implements LaneStream {
  readonly #observer: StreamObserver;
  readonly #ending: LengthEnding | null;
  readonly #splitter = new FrameSplitter();
  readonly #edits = new EditList();
  #state: State = 'waiting';
  #opened = false;
  /** The partial frame was found to be one that must not flow in pieces. */
  #keeping = false;
  #failure: LaneFailure | null = null;
  /** Comments and pings before the first event: sent with it, or never. */
  #prelude: Buffer | null = null;
  #held: Buffer | null = null;
  #terminal: Buffer | null = null;
  #covered = Number.POSITIVE_INFINITY;
  /** The output is not more than this: a frame adds less than its length. Read from the meter where that may matter. */
  #outputMax = 0;
  #uncovered: UncoveredFrame | null = null;

  /** `ending`: null where the stream will not be ended by this side. */
  constructor(observer: StreamObserver, ending: LengthEnding | null) {
    this.#observer = observer;
    this.#ending = ending;
  }

  push(chunk: Buffer): LaneStep {
    if (this.#over) return this.#step(null);
    if (this.#uncovered !== null) {
      this.#uncovered.behind.add(chunk);
      return this.#step(null);
    }
    this.#splitter.feed(chunk);
    const forward = this.#drain();
    if (!this.#over && this.#splitter.partialLength > PARTIAL_MAX) return this.#step(this.#oversized(forward));
    return this.#step(forward);
  }

  end(): LaneStep {
    if (this.#over || this.#closesLater()) return this.#step(null);
    this.#splitter.close();
    const forward = this.#drain();
    if (!this.#over && !this.#closesLater()) {
      if (this.#observer.finished && this.#observer.closing !== null) {
        this.#terminal = this.#observer.closing;
        this.#state = 'complete';
      } else {
        this.#fail(brokenStream('The provider ended the stream before the answer was complete.'));
      }
    }
    return this.#step(forward);
  }

  cover(outputBytes: number): void {
    this.#covered = outputBytes;
  }

  get uncovered(): boolean {
    return this.#uncovered !== null;
  }

  get uncoveredBytes(): number {
    if (this.#uncovered !== null) return this.#uncovered.bytes.length + this.#uncovered.behind.length;
    return this.#covered === Number.POSITIVE_INFINITY ? 0 : this.#splitter.partialLength;
  }

  letOut(): LaneStep {
    const waiting = this.#uncovered;
    if (waiting === null || this.#over || this.outputBytes > this.#covered) return this.#step(null);
    this.#uncovered = null;
    const { verdict, bytes, behind, closed } = waiting;
    const frame = new FrameSplitter();
    frame.feed(bytes);
    frame.next();
    this.#edits.cut(0);
    const kept = this.#act(verdict, frame, 0) || verdict === 'hold';
    let step = this.#step(kept ? null : bytes);
    if (!this.#over && behind.length > 0) step = followedBy(step, this.push(behind.whole()));
    return closed ? followedBy(step, this.end()) : step;
  }

  terminal(counted: TokenCounts | null = null): Buffer {
    if (this.#terminal === null) throw new Error('The stream has no terminal part to take.');
    const bytes = this.#held === null ? this.#terminal : Buffer.concat([this.#held, this.#terminal]);
    this.#held = null;
    this.#terminal = null;
    return counted === null ? bytes : this.#observer.showUsage(bytes, counted);
  }

  meter(): Meter {
    return this.#observer.meter();
  }

  get outputBytes(): number {
    return this.#observer.output.bytes;
  }

  sample(): OutputSample {
    return this.#observer.output.sample;
  }

  cutShort(tokens: TokenCounts): LaneStep {
    // The provider's own end is here already, or there is nothing to end.
    const finished = this.#observer.finished && this.#uncovered === null;
    if (this.#over || this.#ending === null || finished) return this.end();
    const { closing, terminal } = this.#ending.end(tokens, this.position());
    this.#open();
    this.#terminal = Buffer.from(terminal);
    this.#state = 'complete';
    return this.#step(Buffer.from(closing));
  }

  betweenFrames(): boolean {
    return !this.#splitter.flowing;
  }

  position(): StreamPosition | null {
    const position = this.#observer.position();
    if (position === null || this.#uncovered === null) return position;
    // The observer has seen the frame that waits; the client has not.
    const output = this.#ending?.output?.();
    return {
      nextSequence: position.nextSequence - 1,
      response: () => ({ ...position.response(), ...(output === undefined ? {} : { output }) }),
    };
  }

  get #over(): boolean {
    return this.#state === 'complete' || this.#state === 'failed';
  }

  #open(): void {
    this.#state = 'open';
    this.#opened = true;
  }

  #fail(failure: LaneFailure): void {
    this.#state = 'failed';
    this.#failure = failure;
  }

  /** Looks at every frame that is complete and returns what of them the client gets now. */
  #drain(): Buffer | null {
    const splitter = this.#splitter;
    const edits = this.#edits;
    edits.cut(0);
    let end = 0;
    while (splitter.next()) {
      if (splitter.raw) this.#observer.flowed(splitter);
      else if (this.#take(splitter)) break;
      end = splitter.end;
    }
    const bytes = end === 0 ? NOTHING : edits.apply(splitter.bytes, 0, end);
    splitter.release();
    if (end > 0) this.#keeping = false;
    return bytes.length === 0 ? null : bytes;
  }

  /** True where nothing is forwarded from this frame on: the stream is over with it, or it has to wait. */
  #take(frame: FrameView): boolean {
    const edits = this.#edits;
    const before = edits.length;
    const verdict = frame.dataLines > 1 ? this.#judgeJoined(frame) : this.#judge(frame, edits);
    this.#outputMax += frame.end - frame.start;
    if (this.#outputMax > this.#covered && !this.#isCovered() && verdict !== 'drop' && verdict !== 'failed') {
      const behind = new ByteCollector();
      if (frame.end < frame.bytes.length) behind.add(Buffer.from(frame.bytes.subarray(frame.end)));
      const bytes = Buffer.from(edits.apply(frame.bytes, frame.start, frame.end, before));
      edits.cut(before);
      this.#uncovered = { verdict, bytes, behind, closed: false };
      return true;
    }
    return this.#act(verdict, frame, before);
  }

  /** The end of the stream comes behind a frame that waits. */
  #closesLater(): boolean {
    if (this.#uncovered === null) return false;
    this.#uncovered.closed = true;
    return true;
  }

  #isCovered(): boolean {
    this.#outputMax = this.outputBytes;
    return this.#outputMax <= this.#covered;
  }

  /** What a frame is to the stream; `before`: the first of its edits. True when the stream is over with it. */
  #act(verdict: Verdict, frame: FrameView, before: number): boolean {
    const edits = this.#edits;
    switch (verdict) {
      case 'neutral':
        return false;
      case 'event':
        this.#open();
        this.#ending?.observe(frame);
        return false;
      case 'drop':
        this.#open();
        edits.cut(before);
        edits.replace(frame.start, frame.end, null);
        return false;
      case 'hold':
        this.#open();
        this.#held = edits.apply(frame.bytes, frame.start, frame.end, before);
        edits.cut(before);
        edits.replace(frame.start, frame.end, null);
        return false;
      case 'terminal':
        this.#terminal = edits.apply(frame.bytes, frame.start, frame.end, before);
        edits.cut(before);
        this.#state = 'complete';
        return true;
      case 'failed':
        edits.cut(before);
        if (!this.#over) this.#fail(this.#observer.failure ?? brokenStream('The provider broke the stream.'));
        return true;
    }
  }

  #judge(frame: FrameView, edits: EditList): Verdict {
    if (hasTooManyValues(frame)) {
      this.#fail(brokenStream(`The provider sent an event with ${TOO_MANY_VALUES}.`));
      return 'failed';
    }
    const first = this.#state === 'waiting';
    if (frame.dataLines > 0) return this.#observer.frame(frame, first, edits);
    const failure = failureInPlainText(frame, first);
    if (failure === null) return 'neutral';
    this.#fail(failure);
    return 'failed';
  }

  /** Data over several lines is looked at as one line; the frame is only rewritten when it must be edited. */
  #judgeJoined(frame: FrameView): Verdict {
    const joined = frameOf(eventName(frame), joinedData(frame).replaceAll('\n', ' '));
    const edits = new EditList();
    const verdict = this.#judge(joined, edits);
    if (edits.length > 0) this.#edits.replace(frame.start, frame.end, edits.apply(joined.bytes, 0, joined.end));
    return verdict;
  }

  /** A partial frame that has outgrown its place: flows on in pieces where the format allows it. */
  #oversized(forward: Buffer | null): Buffer | null {
    if (this.#splitter.partialLength > KEPT_MAX) {
      this.#fail(brokenStream('The provider sent an event that is too large.'));
      return forward;
    }
    if (this.#keeping) return forward;
    const beginning = this.#splitter.partial();
    // A stream that may have to be ended must not be inside a frame then.
    const keep = this.#ending !== null || !this.#opened || beginning.dataLines !== 1;
    if (keep || !this.#observer.mayFlow(beginning)) {
      this.#keeping = true;
      return forward;
    }
    this.#edits.cut(0);
    this.#observer.flow(beginning, this.#edits);
    const flowing = this.#splitter.letFlow();
    const edited = this.#edits.apply(flowing, 0, flowing.length);
    return forward === null ? edited : Buffer.concat([forward, edited]);
  }

  #step(forward: Buffer | null): LaneStep {
    const state = this.#state;
    if (state === 'waiting') {
      if (forward !== null) this.#keepPrelude(forward);
      return { forward: null, state, failure: null };
    }
    if (!this.#opened) return { forward: null, state, failure: this.#failure };
    let bytes = forward;
    if (this.#prelude !== null) {
      bytes = bytes === null ? this.#prelude : Buffer.concat([this.#prelude, bytes]);
      this.#prelude = null;
    }
    return { forward: bytes, state, failure: this.#failure };
  }

  #keepPrelude(bytes: Buffer): void {
    const length = (this.#prelude?.length ?? 0) + bytes.length;
    if (length > PARTIAL_MAX) return;
    this.#prelude = this.#prelude === null ? bytes : Buffer.concat([this.#prelude, bytes]);
  }
}
