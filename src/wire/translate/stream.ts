/** A translated stream: the target's events in, the client's bytes out. */
import { GatewayError } from '../../core/conditions.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { ByteCollector } from '../../lib/byte-collector.ts';
import { broken, UnfitAnswer } from '../errors.ts';
import { TOO_MANY_VALUES } from '../json/answer-values.ts';
import type { LaneFailure, LaneStep, LaneStream, Meter, StreamPosition } from '../lane.ts';
import type { OutputSample } from '../output-sample.ts';
import { hostedCall, readTerms } from '../reported-terms.ts';
import { ReportedUsage } from '../reported-usage.ts';
import { eventName, FrameSplitter, hasTooManyValues, joinedData } from '../sse.ts';
import { brokenStream, failureInPlainText, readFailure } from '../upstream-failure.ts';
import { saneCounts } from '../usage.ts';
import type { AnswerFilter } from './answer-filter.ts';
import { endsMidway } from './cut-calls.ts';
import type { EventReader, EventWriter, TurnEvent } from './turn.ts';

/** `sample`: where text that nobody reported may have to be counted. `tokensMax`: the most that the request can take. */
export class TurnMeter {
  readonly sample: OutputSample | null;
  readonly #reported: ReportedUsage;
  #outputBytes = 0;

  constructor(sample: OutputSample | null, tokensMax?: () => number) {
    this.sample = sample;
    this.#reported = new ReportedUsage(tokensMax);
  }

  take(event: TurnEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-delta':
      case 'unread':
        this.#said(event.text);
        return;
      case 'tool-start':
        this.#said(event.tool.name);
        return;
      case 'usage':
        this.#reported.terms.take(event.terms ?? null);
        this.#reported.take(saneCounts(event.tokens), event.partial !== true, this.#outputBytes);
        return;
      case 'start':
        if (event.serviceTier !== undefined) {
          this.#reported.terms.take(readTerms({ service_tier: event.serviceTier }, undefined, null));
        }
        return;
      case 'opaque':
        this.#reported.terms.called(hostedCall(event.format, event.raw));
    }
  }

  #said(text: string): void {
    this.#outputBytes += Buffer.byteLength(text);
    if (this.sample?.full === false) this.sample.addText(text);
  }

  get outputBytes(): number {
    return this.#outputBytes;
  }

  read(): Meter {
    return this.#reported.meter(this.#outputBytes);
  }
}

/** The first event that the hold does not cover, what follows it of its frame, and what has come behind. */
interface UncoveredEvents {
  readonly events: readonly TurnEvent[];
  readonly frameBytes: number;
  readonly behind: ByteCollector;
  /** The upstream has closed its body. */
  closed: boolean;
}

/** A frame that has not ended by then is not an event. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export class TranslateStream implements LaneStream {
  readonly #reader: EventReader;
  readonly #writer: EventWriter;
  readonly #filter: AnswerFilter;
  readonly #meter: TurnMeter;
  readonly #splitter = new FrameSplitter();
  #state: LaneStep['state'] = 'waiting';
  #failure: LaneFailure | null = null;
  #started = false;
  /** The answer has its finish reason. */
  #finished = false;
  /** The blocks that have started and not ended. */
  readonly #blocks = new Map<number, 'text' | 'reasoning' | 'tool'>();
  #endWaits = false;
  #out = '';
  #covered = Number.POSITIVE_INFINITY;
  #uncovered: UncoveredEvents | null = null;

  constructor(reader: EventReader, writer: EventWriter, filter: AnswerFilter, meter: TurnMeter) {
    this.#reader = reader;
    this.#writer = writer;
    this.#filter = filter;
    this.#meter = meter;
  }

  push(chunk: Buffer): LaneStep {
    return this.#step(() => this.#feed(chunk));
  }

  end(): LaneStep {
    return this.#step(() => this.#close());
  }

  cover(outputBytes: number): void {
    this.#covered = outputBytes;
  }

  get uncovered(): boolean {
    return this.#uncovered !== null;
  }

  get uncoveredBytes(): number {
    if (this.#uncovered !== null) return this.#uncovered.frameBytes + this.#uncovered.behind.length;
    return this.#covered === Number.POSITIVE_INFINITY ? 0 : this.#splitter.partialLength;
  }

  letOut(): LaneStep {
    return this.#step(() => {
      const waiting = this.#uncovered;
      if (waiting === null || this.#meter.outputBytes > this.#covered) return;
      this.#uncovered = null;
      const [first, ...rest] = waiting.events;
      if (first !== undefined) this.#deliver(first);
      this.#takeAll(rest);
      if (waiting.behind.length > 0) this.#feed(waiting.behind.whole());
      if (waiting.closed) this.#close();
    });
  }

  #feed(chunk: Buffer): void {
    if (this.#uncovered !== null) {
      this.#uncovered.behind.add(chunk);
      return;
    }
    this.#splitter.feed(chunk);
    this.#drain();
    if (this.#splitter.partialLength > FRAME_BYTES_MAX) broken('an event is too large.');
  }

  #close(): void {
    if (this.#uncovered === null) {
      this.#splitter.close();
      this.#drain();
    }
    if (this.#open && this.#uncovered === null) this.#takeAll(this.#reader.finish());
    if (this.#uncovered !== null) this.#uncovered.closed = true;
    else if (this.#open) this.#fail(brokenStream('The provider ended the stream before the answer was complete.'));
  }

  terminal(counted: TokenCounts | null = null): Buffer {
    let text = '';
    if (this.#endWaits) {
      if (counted !== null) text += this.#writer.write({ type: 'usage', tokens: counted });
      text += this.#writer.write({ type: 'end' });
    }
    return Buffer.from(text + this.#writer.terminal());
  }

  meter(): Meter {
    return this.#meter.read();
  }

  get outputBytes(): number {
    return this.#meter.outputBytes;
  }

  sample(): OutputSample | null {
    return this.#meter.sample;
  }

  cutShort(tokens: TokenCounts, position?: StreamPosition): LaneStep {
    // The provider's own end is here already; only its last event is not.
    if (this.#finished) return this.end();
    return this.#step(() => {
      if (position) this.#writer.continueAt?.(position.nextSequence);
      this.#write({ type: 'finish', reason: 'length', raw: { format: 'chat', value: 'length' } });
      this.#write({ type: 'usage', tokens });
      this.#end();
    });
  }

  early(): boolean {
    return this.#filter.over;
  }

  position(): StreamPosition | null {
    return this.#writer.position?.() ?? null;
  }

  get #open(): boolean {
    return this.#state === 'waiting' || this.#state === 'open';
  }

  #step(work: () => void): LaneStep {
    this.#out = '';
    if (this.#open) {
      try {
        work();
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        const { condition, message, kept } = error;
        this.#fail({ condition, message, kept, owed: error instanceof UnfitAnswer });
      }
    }
    const forward = this.#out === '' ? null : Buffer.from(this.#out);
    return { forward, state: this.#state, failure: this.#failure };
  }

  #drain(): void {
    const splitter = this.#splitter;
    while (this.#open && this.#uncovered === null && splitter.next()) {
      if (hasTooManyValues(splitter)) broken(`an event has ${TOO_MANY_VALUES}.`);
      if (splitter.dataLines === 0) {
        const failure = failureInPlainText(splitter, this.#state === 'waiting');
        if (failure !== null) this.#fail(failure);
        continue;
      }
      const data = joinedData(splitter);
      if (data.trim() === '') continue;
      this.#takeAll(this.#reader.read(eventName(splitter) || null, data));
    }
    const behind = splitter.bytes.subarray(splitter.consumed);
    if (this.#uncovered !== null && behind.length > 0) this.#uncovered.behind.add(Buffer.from(behind));
  }

  #takeAll(events: readonly TurnEvent[]): void {
    for (const [place, event] of events.entries()) {
      if (!this.#open) return;
      if (event.type === 'failure') {
        this.#fail(readFailure(event.error, this.#state === 'waiting'));
        return;
      }
      this.#meter.take(event);
      if (this.#meter.outputBytes > this.#covered) {
        const frameBytes = this.#splitter.end - this.#splitter.start;
        const behind = new ByteCollector();
        this.#uncovered = { events: events.slice(place), frameBytes, behind, closed: false };
        return;
      }
      this.#deliver(event);
    }
  }

  #deliver(event: TurnEvent): void {
    if (event.type === 'unread') return;
    for (const filtered of this.#filter.apply(event)) this.#write(filtered);
    if (this.#filter.over && this.#open) this.#write({ type: 'end' });
  }

  #write(event: TurnEvent): void {
    if (event.type === 'start' ? this.#started : !this.#started && event.type !== 'usage') {
      // A second start is ignored, and a missing one is added.
      if (event.type === 'start') return;
      this.#write({ type: 'start', id: null, createdS: null });
    }
    if (event.type === 'start') this.#started = true;
    if (event.type === 'finish') {
      this.#finished = true;
      this.#endBlocks(endsMidway(event.reason));
    }
    this.#note(event);
    if (event.type !== 'end') {
      this.#out += this.#writer.write(event);
      this.#state = 'open';
    } else if (this.#meter.read().reportedFinal) {
      this.#end();
    } else {
      // It may show usage, which has to be counted first.
      this.#endWaits = true;
      this.#state = 'complete';
    }
  }

  #end(): void {
    this.#out += this.#writer.write({ type: 'end' });
    this.#state = 'complete';
  }

  #note(event: TurnEvent): void {
    if (event.type === 'text-start' || event.type === 'reasoning-start' || event.type === 'tool-start') {
      const kind = event.type === 'text-start' ? 'text' : event.type === 'tool-start' ? 'tool' : 'reasoning';
      this.#blocks.set(event.key, kind);
    } else if (event.type === 'text-end' || event.type === 'reasoning-end' || event.type === 'tool-end') {
      this.#blocks.delete(event.key);
    }
  }

  /** An answer that ends in the middle of a block still ends the block: clients show nothing of an open one. */
  #endBlocks(incomplete: boolean): void {
    for (const [key, kind] of [...this.#blocks]) {
      const end: TurnEvent = kind === 'tool' ? { type: 'tool-end', key, incomplete } : { type: `${kind}-end`, key };
      for (const event of this.#filter.apply(end)) this.#write(event);
    }
  }

  #fail(failure: LaneFailure): void {
    this.#state = 'failed';
    this.#failure = failure;
  }
}
