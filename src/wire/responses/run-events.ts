/**
 * The events of a run, a response that is made in the background, as they are stored and as every reader gets them: whole
 * frames, each with a number that is greater than the last, and with responses under the id of the run.
 */
import { isObject, type JsonObject, numberAt, stringAt } from '../../lib/json.ts';
import { type Layout, layoutAt } from '../json/scan.ts';
import { FrameSplitter, parsedData } from '../sse.ts';
import { eventFrame } from '../translate/answer-writing.ts';
import { ended } from './failure.ts';
import type { ResponseSnapshot } from './snapshot.ts';

/** What every response in the events of a run says of itself, whatever its provider calls it. */
export interface RunIdentity {
  readonly id: string;
  readonly created_at: number;
  readonly background: true;
}

/** Frames that follow each other, from the number `first` to `last`. */
export interface NumberedFrames {
  readonly first: number;
  readonly last: number;
  readonly frames: Buffer;
}

/** A provider may leave numbers out, but not so many that the next ones could not be told apart. */
const GAP_MAX = 1_000;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** One per run: what its attempts write, whatever numbers and ids their providers have given. */
export class RunFrames {
  readonly #identity: RunIdentity;
  readonly #splitter = new FrameSplitter();
  #last = -1;

  constructor(identity: RunIdentity) {
    this.#identity = identity;
  }

  get nextNumber(): number {
    return this.#last + 1;
  }

  /** Of a frame that has begun and not ended. */
  get partialBytes(): number {
    return this.#splitter.partialLength;
  }

  /** Null where no frame has ended. What is no event (a sign of life, a frame that was broken off) is not kept. */
  push(bytes: Buffer): NumberedFrames | null {
    const splitter = this.#splitter;
    const pieces: Buffer[] = [];
    let first = -1;
    splitter.feed(bytes);
    while (splitter.next()) {
      if (splitter.dataLines === 0) continue;
      const frame = splitter.dataLines === 1 ? this.#edited() : this.#rewritten();
      if (frame === null) continue;
      if (first === -1) first = this.#last;
      pieces.push(...frame);
    }
    splitter.release();
    return pieces.length === 0 ? null : { first, last: this.#last, frames: Buffer.concat(pieces) };
  }

  #edited(): readonly Buffer[] | null {
    const { bytes, text, start, end, dataStart } = this.#splitter;
    const top = layoutAt(text, dataStart);
    if (top === null || top.members.length === 0) return null;
    const edits: Edit[] = [];
    const number = top.members.find(({ name }) => name === 'sequence_number');
    const given = number === undefined ? Number.NaN : Number(text.slice(number.valueStart, number.valueEnd));
    if (this.#follows(given)) this.#last = given;
    else edits.push(put(top, 'sequence_number', String(++this.#last)));
    const response = top.members.find(({ name }) => name === 'response');
    const inner = response === undefined ? null : layoutAt(text, response.valueStart);
    if (inner !== null && inner.members.length > 0) {
      for (const [name, value] of Object.entries(this.#identity)) edits.push(put(inner, name, JSON.stringify(value)));
    }
    return spliced(bytes, start, end, edits);
  }

  /** The provider's own number stays where it can. */
  #follows(number: number): boolean {
    return Number.isSafeInteger(number) && number > this.#last && number <= this.#last + GAP_MAX;
  }

  #rewritten(): readonly Buffer[] | null {
    const event = parsedData(this.#splitter);
    if (!isObject(event)) return null;
    const { sequence_number: given, response } = event;
    this.#last = typeof given === 'number' && this.#follows(given) ? given : this.#last + 1;
    const named = isObject(response) ? { response: { ...response, ...this.#identity } } : {};
    const written = { ...event, sequence_number: this.#last, ...named };
    return [Buffer.from(eventFrame(stringAt(event, 'type') ?? 'message', written))];
  }
}

/** The member with this value, in its place or as the first one. */
function put({ open, members }: Layout, name: string, json: string): Edit {
  const member = members.find((one) => one.name === name);
  if (member !== undefined) return { start: member.valueStart, end: member.valueEnd, text: json };
  return { start: open + 1, end: open + 1, text: `${JSON.stringify(name)}:${json},` };
}

function spliced(bytes: Buffer, start: number, end: number, edits: readonly Edit[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let from = start;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(bytes.subarray(from, edit.start), Buffer.from(edit.text));
    from = edit.end;
  }
  pieces.push(bytes.subarray(from, end));
  return pieces;
}

/** The frames whose numbers are greater. */
export function framesAfter(frames: Buffer, after: number): Buffer {
  const splitter = new FrameSplitter();
  splitter.feed(frames);
  while (splitter.next()) {
    const event = parsedData(splitter);
    if (isObject(event) && Number(event.sequence_number) > after) return frames.subarray(splitter.start);
  }
  return frames.subarray(frames.length);
}

/** The response that the last of these frames shows; null where it shows none. */
export function lastResponse(frames: Buffer): JsonObject | null {
  let found: JsonObject | null = null;
  for (const event of eventsIn(frames)) found = isObject(event.response) ? event.response : found;
  return found;
}

/** What these frames show of the output, also of items that they do not complete. */
export function addToSnapshot(snapshot: ResponseSnapshot, frames: Buffer): void {
  for (const { type, item, delta, ...event } of eventsIn(frames)) {
    const index = numberAt(event, 'output_index') ?? snapshot.lastIndex;
    if (type === 'response.output_item.added' && isObject(item)) snapshot.added(index, item);
    else if (type === 'response.output_item.done' && isObject(item)) snapshot.done(index, item);
    else if (typeof type === 'string' && typeof delta === 'string') {
      const part = numberAt(event, 'content_index') ?? numberAt(event, 'summary_index') ?? 0;
      snapshot.delta(index, type, part, Buffer.from(JSON.stringify(delta).slice(1, -1)).toString('latin1'));
    }
  }
}

function* eventsIn(frames: Buffer): Generator<JsonObject> {
  const splitter = new FrameSplitter();
  splitter.feed(frames);
  while (splitter.next()) {
    const event = parsedData(splitter);
    if (isObject(event)) yield event;
  }
}

export interface RunEnding {
  readonly status: 'failed' | 'cancelled';
  /** Null where nothing has gone wrong. */
  readonly error: JsonObject | null;
}

/** The response of a run that has ended before it was complete: `seen` is what is known of it. */
export function endedResponse(seen: JsonObject, { status, error }: RunEnding): JsonObject {
  return {
    ...seen,
    background: true,
    status,
    completed_at: null,
    incomplete_details: null,
    error,
    output: Array.isArray(seen.output) ? seen.output.map(ended) : [],
  };
}

export function endingFrame(number: number, response: JsonObject): Buffer {
  const type = `response.${String(response.status)}`;
  return Buffer.from(eventFrame(type, { type, sequence_number: number, response }));
}
