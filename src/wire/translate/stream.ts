/** A translated stream: the target's events in, the client's bytes out. */
import { GatewayError } from '../../core/conditions.ts';
import type { Format } from '../../core/endpoints.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { broken } from '../errors.ts';
import type { LaneFailure, LaneStep, LaneStream, Meter, StreamPosition } from '../lane.ts';
import { ResponsesWriter } from '../responses/writer.ts';
import { eventName, FrameSplitter, joinedData } from '../sse.ts';
import { brokenStream, readFailure } from '../upstream-failure.ts';
import { saneCounts } from '../usage.ts';
import { Restorer } from './restore-tools.ts';
import { StopFilter } from './stop-sequences.ts';
import type { ToolNames } from './tool-names.ts';
import type { EventReader, EventWriter, TurnEvent } from './turn.ts';

/** What happens to events between the target's reader and the client's writer. One per attempt. */
export class Shaper {
  readonly #restorer: Restorer;
  readonly #filter: StopFilter | null;

  constructor(names: ToolNames, stop: readonly string[], client: Format) {
    this.#restorer = new Restorer(names, client);
    this.#filter = stop.length > 0 ? new StopFilter(stop) : null;
  }

  /** The answer is over for the client, though the provider goes on. */
  get over(): boolean {
    return this.#filter?.hit ?? false;
  }

  shape(event: TurnEvent): readonly TurnEvent[] {
    const kept = this.#filter ? this.#filter.take(event) : [event];
    return kept.flatMap((one) => this.#restorer.restore(one));
  }
}

export class TurnMeter {
  readonly #target: Format;
  #reported: TokenCounts | null = null;
  #final = false;
  #finished = false;
  #outputBytes = 0;

  constructor(target: Format) {
    this.#target = target;
  }

  take(event: TurnEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-delta':
        this.#outputBytes += Buffer.byteLength(event.text);
        return;
      case 'usage':
        this.#reported = saneCounts(event.tokens);
        // A messages stream reports its input at the start and its output only with the reason to finish.
        this.#final = this.#reported !== null && (this.#finished || this.#target !== 'messages');
        return;
      case 'finish':
        this.#finished = true;
    }
  }

  read(): Meter {
    return { reported: this.#reported, reportedFinal: this.#final, outputBytes: this.#outputBytes };
  }
}

/** A frame that has not ended by then is no event. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;

export class TranslateStream implements LaneStream {
  readonly #reader: EventReader;
  readonly #writer: EventWriter;
  readonly #shaper: Shaper;
  readonly #meter: TurnMeter;
  readonly #splitter = new FrameSplitter();
  #state: LaneStep['state'] = 'waiting';
  #failure: LaneFailure | null = null;
  #started = false;
  /** The blocks that were begun and not ended. */
  readonly #blocks = new Map<number, 'text' | 'reasoning' | 'tool'>();
  #out = '';

  constructor(reader: EventReader, writer: EventWriter, shaper: Shaper, meter: TurnMeter) {
    this.#reader = reader;
    this.#writer = writer;
    this.#shaper = shaper;
    this.#meter = meter;
  }

  push(chunk: Buffer): LaneStep {
    return this.#step(() => {
      this.#splitter.feed(chunk);
      this.#drain();
      if (this.#splitter.partialLength > FRAME_BYTES_MAX) broken('an event is too large.');
    });
  }

  end(): LaneStep {
    return this.#step(() => {
      this.#splitter.close();
      this.#drain();
      if (this.#open) this.#takeAll(this.#reader.finish());
      if (this.#open) this.#fail(brokenStream('The provider ended the stream before the answer was complete.'));
    });
  }

  terminal(): Buffer {
    return Buffer.from(this.#writer.terminal());
  }

  meter(): Meter {
    return this.#meter.read();
  }

  cutShort(tokens: TokenCounts): LaneStep {
    return this.#step(() => {
      this.#write({ type: 'finish', reason: 'length', raw: { format: 'chat', value: 'length' } });
      this.#write({ type: 'usage', tokens });
      this.#write({ type: 'end' });
    });
  }

  early(): boolean {
    return this.#shaper.over;
  }

  position(): StreamPosition {
    const writer = this.#writer;
    return writer instanceof ResponsesWriter
      ? writer.position
      : { responseId: null, createdAtS: null, nextSequence: 0 };
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
        this.#fail({ condition: error.condition, message: error.message });
      }
    }
    const forward = this.#out === '' ? null : Buffer.from(this.#out);
    return { forward, state: this.#state, failure: this.#failure };
  }

  #drain(): void {
    const splitter = this.#splitter;
    while (this.#open && splitter.next()) {
      if (splitter.dataLines === 0) continue;
      const data =
        splitter.dataLines === 1
          ? splitter.bytes.toString('utf8', splitter.dataStart, splitter.dataEnd)
          : joinedData(splitter);
      if (data.trim() === '') continue;
      this.#takeAll(this.#reader.read(eventName(splitter) || null, data));
    }
  }

  #takeAll(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (!this.#open) return;
      if (event.type === 'failure') {
        this.#fail(readFailure(event.error, this.#state === 'waiting'));
        return;
      }
      this.#meter.take(event);
      for (const shaped of this.#shaper.shape(event)) this.#write(shaped);
      if (this.#shaper.over && this.#open) this.#write({ type: 'end' });
    }
  }

  #write(event: TurnEvent): void {
    if (event.type === 'start' ? this.#started : !this.#started && event.type !== 'usage') {
      // A server that begins twice is heard once, and one that does not begin at all is begun for.
      if (event.type === 'start') return;
      this.#write({ type: 'start', id: null, createdS: null });
    }
    if (event.type === 'start') this.#started = true;
    if (event.type === 'finish') this.#endBlocks();
    this.#note(event);
    this.#out += this.#writer.write(event);
    this.#state = event.type === 'end' ? 'complete' : 'open';
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
  #endBlocks(): void {
    for (const [key, kind] of [...this.#blocks]) {
      for (const event of this.#shaper.shape({ type: `${kind}-end`, key })) this.#write(event);
    }
  }

  #fail(failure: LaneFailure): void {
    this.#state = 'failed';
    this.#failure = failure;
  }
}
