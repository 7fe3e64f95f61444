/** A format's observer of a passed-through stream: the part that all three share. */
import type { TokenCounts } from '../../core/usage.ts';
import { MemberScanner } from '../json/scan.ts';
import type { LaneFailure, Meter, StreamPosition } from '../lane.ts';
import { ReportedUsage } from '../reported-usage.ts';
import type { FrameView } from '../sse.ts';
import { FrameTemplate } from './frame-template.ts';
import { type EditList, OutputCounter, PublicModel } from './observer.ts';

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
    const verdict = this.newFrame(frame, first, edits);
    if (this.plainDelta) {
      this.#template ??= new FrameTemplate();
      this.#template.learn(frame, this.output, edits, before);
    }
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
    this.scanner.begin(text, dataStart, dataEnd);
  }

  /** Whether this oversized frame, of which only the beginning is here, may reach the client in pieces. */
  mayFlow(_beginning: FrameView): boolean {
    return true;
  }

  /** Looks at the beginning of a frame that flows in pieces. */
  flow(beginning: FrameView, edits: EditList): void {
    this.scan(beginning, edits);
  }

  /** A further piece of that frame. */
  flowed(bytes: number): void {
    this.output.piece(bytes);
  }

  meter(): Meter {
    return this.reported.meter(this.output.bytes);
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
