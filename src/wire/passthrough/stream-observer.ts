/** A format's observer of a passed-through stream: the part that all three share. */
import type { TokenCounts } from '../../core/usage.ts';
import { endsInLongString, hasEscapedName } from '../json/frame-checks.ts';
import { MemberScanner } from '../json/scan.ts';
import type { LaneFailure, Meter, StreamPosition } from '../lane.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { eventName, type FrameView, frameOf, parsedData } from '../sse.ts';
import { FrameTemplate } from './frame-template.ts';
import { EditList, OutputCounter, PublicModel } from './observer.ts';
import { TextBeside } from './text-beside.ts';

/**
 * `event`: a valid event, to forward. `neutral`: to forward, but no proof of life (a comment, a ping). `drop`: not for
 * the client. `hold`: a part of the terminal part, to keep back. `terminal`: the frame that completes the answer.
 * `failed`: `failure` says why.
 */
export type Verdict = 'event' | 'neutral' | 'drop' | 'hold' | 'terminal' | 'failed';

/** One per attempt. Looks at frames, asks for edits, and meters; forwards nothing itself. */
export abstract class StreamObserver {
  /** Counts the text of each frame, and knows where it is. */
  readonly output = new OutputCounter();
  /** The reason of the last `failed`. */
  failure: LaneFailure | null = null;
  /** The answer has its finish reason: if the terminal frame never comes, `closing` is sent in its place. */
  abstract readonly finished: boolean;
  abstract readonly closing: Buffer | null;
  protected readonly model: PublicModel;
  protected readonly reported: ReportedUsage;
  protected readonly scanner = new MemberScanner();
  /** Looks at what is in none of the places of text. */
  protected readonly beside = new TextBeside(this.output);
  /** The last frame needs nothing but to be forwarded, to have its text counted and its edits made. */
  protected plainDelta = false;
  #template: FrameTemplate | null = null;

  // The findings of the scan of the current frame: the marks of an error.
  protected error = false;
  protected code = false;
  protected message = false;

  /** `tokensMax`: the most tokens that the request can take. */
  constructor(publicModel: string, tokensMax: (() => number) | undefined) {
    this.model = new PublicModel(publicModel);
    this.reported = new ReportedUsage(tokensMax);
  }

  /** `first`: nothing valid has come before this frame. */
  frame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    const template = this.#template;
    if (!first && template?.matches(frame, edits)) {
      const { output } = this;
      output.whole(template.outputBytes);
      if (!output.sample.full) template.copyText(frame, output.sample);
      return 'event';
    }
    const before = edits.length;
    this.plainDelta = false;
    const verdict = this.scannedFrame(frame, first, edits);
    if (this.plainDelta) {
      this.#template ??= new FrameTemplate();
      this.#template.learn(frame, this.output, edits, before);
    }
    return verdict;
  }

  /** A frame as it is judged without its like before it. */
  protected scannedFrame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    const { bytes } = this.output;
    const renamed = hasEscapedName(frame.text, frame.dataStart, frame.dataEnd);
    const verdict = renamed ? this.#renamedFrame(frame, first, edits) : this.newFrame(frame, first, edits);
    // The client gets nothing of it.
    if (verdict === 'failed' || verdict === 'drop') this.output.bytes = bytes;
    return verdict;
  }

  /** Names with escapes say the same to a client as those that the scan knows: it is shown the latter. */
  #renamedFrame(frame: FrameView, first: boolean, edits: EditList): Verdict {
    const data = parsedData(frame);
    if (data === undefined) return this.newFrame(frame, first, edits);
    const renamed = frameOf(eventName(frame), JSON.stringify(data));
    const own = new EditList();
    const verdict = this.newFrame(renamed, first, own);
    if (own.length > 0) edits.replace(frame.start, frame.end, own.apply(renamed.bytes, 0, renamed.end));
    this.plainDelta = false;
    return verdict;
  }

  /** A frame that is unlike the ones before. */
  protected abstract newFrame(frame: FrameView, first: boolean, edits: EditList): Verdict;

  /** Looks at the members of a frame, or of the beginning of one. */
  protected abstract scan(frame: FrameView, edits: EditList): void;

  protected beginScan({ text, dataStart, dataEnd }: FrameView): void {
    this.error = false;
    this.code = false;
    this.message = false;
    this.output.startFrame();
    this.beside.startFrame();
    this.scanner.begin(text, dataStart, dataEnd);
  }

  /**
   * Whether this oversized frame, of which only the beginning is here, may reach the client in pieces. Its pieces are not
   * scanned: all that is expected of them is the rest of one long string.
   */
  mayFlow({ text, dataStart, dataEnd }: FrameView): boolean {
    return endsInLongString(text, dataStart, dataEnd) && !hasEscapedName(text, dataStart, dataEnd);
  }

  /** Looks at the beginning of a frame that flows in pieces. */
  flow(beginning: FrameView, edits: EditList): void {
    this.scan(beginning, edits);
  }

  /** A further piece of that frame. */
  flowed({ text, start, end }: FrameView): void {
    this.output.piece(text, start, end);
  }

  meter(): Meter {
    const { bytes, encoded, seen } = this.output;
    const meter = this.reported.meter(bytes, seen);
    const { tokens } = encoded;
    return tokens === null ? meter : { ...meter, encoded: tokens };
  }

  /** The terminal part with these tokens as the usage that it shows. */
  abstract showUsage(terminal: Buffer, tokens: TokenCounts): Buffer;

  position(): StreamPosition | null {
    return null;
  }

  protected fail(failure: LaneFailure): Verdict {
    this.failure = failure;
    return 'failed';
  }
}
