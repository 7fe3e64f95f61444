/**
 * Splits a byte stream into SSE frames with their exact bytes, wherever the chunks are cut: inside a UTF-8 character,
 * a line end or a field name. A chunk of complete frames is looked at in place and never copied; only a partial frame
 * is kept until the rest of it arrives.
 *
 * The splitter is a cursor: after `feed`, every `next` that returns true describes one frame by offsets into `bytes`
 * and `text` (the Latin-1 view of the same bytes). Nothing is allocated per frame.
 */
import { type Json, parseJson } from '../lib/json.ts';
import { hasMoreValues } from '../lib/json-values.ts';
import { ANSWER_VALUES_MAX } from './json/answer-values.ts';

/** A frame by its offsets; what observers look at. */
export interface FrameView {
  readonly bytes: Buffer;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** How many `data` lines the frame has; the offsets are those of the first. */
  readonly dataLines: number;
  readonly dataStart: number;
  readonly dataEnd: number;
  readonly eventStart: number;
  readonly eventEnd: number;
  /** How many lines are fields that SSE knows, comments included. */
  readonly knownLines: number;
}

/** How much of a partial frame is kept back before it may flow on as it comes. */
export const PARTIAL_MAX = 64 * 1024;

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const COLON = 0x3a;
const NOTHING = Buffer.alloc(0);
const ONE_LINE_END = Buffer.from('\n');
const TWO_LINE_ENDS = Buffer.from('\n\n');

export class FrameSplitter implements FrameView {
  bytes: Buffer = NOTHING;
  text = '';
  start = 0;
  end = 0;
  dataLines = 0;
  dataStart = 0;
  dataEnd = 0;
  eventStart = 0;
  eventEnd = 0;
  knownLines = 0;
  /** Set while `next` describes a piece of an oversized frame that flows raw; its fields are not looked at. */
  raw = false;

  #at = 0;
  #lineFeed = 0;
  #carriageReturn = 0;
  /** Set in the view of a partial frame: what is there is read as all of it. */
  #whole = false;
  /** True from `letFlow` until the end of that frame. */
  #flowing = false;
  #flowingTail = 0;
  /** The partial frame; `#pendingLength` bytes of a buffer that grows by doubling. */
  #pending: Buffer = NOTHING;
  #pendingLength = 0;

  feed(chunk: Buffer): void {
    if (this.#pendingLength === 0) {
      this.#open(chunk);
    } else if (this.#completes(chunk)) {
      this.#append(chunk);
      this.#open(this.#pending.subarray(0, this.#pendingLength));
      this.#pending = NOTHING;
      this.#pendingLength = 0;
    } else {
      this.#append(chunk);
      this.#open(NOTHING);
    }
  }

  /** No more bytes will come: a partial frame is completed with the blank line that it lacks. */
  close(): void {
    const last = this.#pending[this.#pendingLength - 1];
    if (this.#pendingLength === 0) this.#open(NOTHING);
    else this.feed(last === LF ? ONE_LINE_END : TWO_LINE_ENDS);
  }

  next(): boolean {
    this.raw = this.#flowing;
    if (this.#flowing) return this.#nextPiece();
    this.start = this.#at;
    this.dataLines = 0;
    this.eventStart = 0;
    this.eventEnd = 0;
    this.knownLines = 0;
    let line = this.#at;
    for (;;) {
      const lineEnd = this.#lineEnd(line);
      if (lineEnd === -1) return this.#incomplete(line);
      let after = lineEnd + 1;
      if (this.text.charCodeAt(lineEnd) === CR) {
        // Whether a line feed belongs to this line end is not known yet; waiting keeps frames independent of the cuts.
        if (after === this.text.length && !this.#whole) return this.#incomplete(line);
        if (this.text.charCodeAt(after) === LF) after++;
      }
      if (lineEnd === line) {
        this.end = after;
        this.#at = after;
        return true;
      }
      this.#field(line, lineEnd);
      line = after;
    }
  }

  /** Lets go of the chunk, so that an idle stream keeps nothing but its partial frame alive. */
  release(): void {
    this.bytes = NOTHING;
    this.text = '';
  }

  /** Offset behind the last frame that `next` described. */
  get consumed(): number {
    return this.#at;
  }

  /** Whether an oversized frame is on its way in pieces. */
  get flowing(): boolean {
    return this.#flowing;
  }

  get partialLength(): number {
    return this.#pendingLength;
  }

  /** The partial frame, described as far as it has come. Only between a `next` that returned false and `feed`. */
  partial(): FrameView {
    const view = new FrameSplitter();
    view.#whole = true;
    view.#open(this.#pending.subarray(0, this.#pendingLength));
    view.next();
    return view;
  }

  /** Gives up waiting for the end of the partial frame and returns its bytes; the rest comes in raw pieces. */
  letFlow(): Buffer {
    const bytes = this.#pending.subarray(0, this.#pendingLength);
    this.#flowing = true;
    this.#flowingTail = bytes[bytes.length - 1] ?? 0;
    this.#pending = NOTHING;
    this.#pendingLength = 0;
    return bytes;
  }

  #open(bytes: Buffer): void {
    this.bytes = bytes;
    this.text = bytes.length === 0 ? '' : bytes.toString('latin1');
    this.#at = 0;
    this.#lineFeed = -2;
    this.#carriageReturn = -2;
  }

  #append(chunk: Buffer): void {
    const length = this.#pendingLength + chunk.length;
    if (length > this.#pending.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, Math.min(2 * length, length + PARTIAL_MAX * 16)));
      this.#pending.copy(grown, 0, 0, this.#pendingLength);
      this.#pending = grown;
    }
    chunk.copy(this.#pending, this.#pendingLength);
    this.#pendingLength = length;
  }

  /** Whether the pending frame ends in this chunk: whether a line end follows upon a line end. */
  #completes(chunk: Buffer): boolean {
    const last = this.#pending[this.#pendingLength - 1] ?? 0;
    // A carriage return was left waiting only to see whether a line feed follows.
    if (last === CR && this.#pendingLength > 1 && isLineEnd(this.#pending[this.#pendingLength - 2])) return true;
    if (last === CR && this.#pendingLength === 1) return true;
    return blankLineEnd(chunk.toString('latin1'), last) !== -1;
  }

  /** The next line end from `from`, of either kind; -1 when there is none. Searches are remembered between lines. */
  #lineEnd(from: number): number {
    if (this.#lineFeed !== -1 && this.#lineFeed < from) this.#lineFeed = this.text.indexOf('\n', from);
    if (this.#carriageReturn !== -1 && this.#carriageReturn < from)
      this.#carriageReturn = this.text.indexOf('\r', from);
    if (this.#carriageReturn === -1) return this.#lineFeed;
    if (this.#lineFeed === -1) return this.#carriageReturn;
    return Math.min(this.#lineFeed, this.#carriageReturn);
  }

  #incomplete(line: number): boolean {
    const length = this.text.length;
    if (this.#whole) {
      if (line < length) this.#field(line, length);
      const any = this.start < length;
      this.end = length;
      this.#at = length;
      return any;
    }
    if (this.start < length) this.#append(this.bytes.subarray(this.start));
    return false;
  }

  #nextPiece(): boolean {
    if (this.#at === this.text.length) return false;
    this.start = this.#at;
    const blank = blankLineEnd(this.text, this.#flowingTail);
    this.#flowing = blank === -1;
    this.end = blank === -1 ? this.text.length : blank;
    this.#flowingTail = this.text.charCodeAt(this.text.length - 1);
    this.#at = this.end;
    return true;
  }

  #field(start: number, end: number): void {
    const { text } = this;
    switch (text.charCodeAt(start)) {
      case 0x64:
        if (!isField(text, 'data', start, end)) return;
        if (this.dataLines++ === 0) {
          this.dataStart = fieldValue(text, start + 4, end);
          this.dataEnd = end;
        }
        break;
      case 0x65:
        if (!isField(text, 'event', start, end)) return;
        this.eventStart = fieldValue(text, start + 5, end);
        this.eventEnd = end;
        break;
      case 0x69:
        if (!isField(text, 'id', start, end)) return;
        break;
      case 0x72:
        if (!isField(text, 'retry', start, end)) return;
        break;
      case COLON:
        break;
      default:
        return;
    }
    this.knownLines++;
  }
}

function isLineEnd(code: number | undefined): boolean {
  return code === LF || code === CR;
}

function isField(text: string, name: string, start: number, end: number): boolean {
  const after = start + name.length;
  return text.startsWith(name, start) && (after === end || text.charCodeAt(after) === COLON);
}

/** Behind the colon and the one space that may follow it. */
function fieldValue(text: string, colon: number, end: number): number {
  const at = colon + 1;
  if (at >= end) return end;
  return text.charCodeAt(at) === SPACE ? at + 1 : at;
}

/** Offset behind the first blank line of the text, which is preceded by the character `before`; -1 without one. */
function blankLineEnd(text: string, before: number): number {
  let feed = text.indexOf('\n');
  let back = text.indexOf('\r');
  while (feed !== -1 || back !== -1) {
    const at = feed === -1 ? back : back === -1 ? feed : Math.min(feed, back);
    const code = text.charCodeAt(at);
    const previous = at === 0 ? before : text.charCodeAt(at - 1);
    if (previous === LF || (previous === CR && code === CR)) {
      return code === CR && text.charCodeAt(at + 1) === LF ? at + 2 : at + 1;
    }
    if (at === feed) feed = text.indexOf('\n', at + 1);
    else back = text.indexOf('\r', at + 1);
  }
  return -1;
}

/** Nothing but a line end: a stream can have millions, one after the other. */
export function isBlank({ text, start }: FrameView): boolean {
  return isLineEnd(text.charCodeAt(start));
}

/** A frame with one `data` line, as if it had come alone; `data` has no line ends. */
export function frameOf(name: string, data: string): FrameView {
  const splitter = new FrameSplitter();
  splitter.feed(Buffer.from(`${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`));
  splitter.next();
  return splitter;
}

/** The data of a frame, its lines joined as SSE says. */
export function joinedData(frame: FrameView): string {
  if (frame.dataLines === 1) return frame.bytes.toString('utf8', frame.dataStart, frame.dataEnd);
  const lines = frame.bytes.toString('utf8', frame.start, frame.end).split(/\r\n|\r|\n/);
  const data: string[] = [];
  for (const line of lines) {
    if (line === 'data') data.push('');
    else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
  }
  return data.join('\n');
}

export function dataIs(frame: FrameView, value: string): boolean {
  return (
    frame.text.startsWith(value, frame.dataStart) && frame.text.slice(frame.dataStart, frame.dataEnd).trim() === value
  );
}

export function eventName(frame: FrameView): string {
  return frame.text.slice(frame.eventStart, frame.eventEnd);
}

/** Whether the data of a frame, or the text that stands in its place, must not be parsed. */
export function hasTooManyValues(frame: FrameView): boolean {
  // A value takes a byte at least: of nearly every frame nothing more is looked at.
  if (frame.end - frame.start < ANSWER_VALUES_MAX) return false;
  const json = frame.dataLines === 0 ? frame.bytes.subarray(frame.start, frame.end) : Buffer.from(joinedData(frame));
  return hasMoreValues(json, ANSWER_VALUES_MAX);
}

/** The data of a frame, parsed; undefined where it is not JSON, or has too many values. */
export function parsedData(frame: FrameView): Json | undefined {
  return hasTooManyValues(frame) ? undefined : parseJson(joinedData(frame));
}
