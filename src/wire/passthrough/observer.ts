/** The parts that an observer of a passed-through stream is made of. */

import { EncodedOutput, sumOf } from '../encoded-output.ts';
import { closingQuote, type MemberScanner, unescapedBytes, valueEnd } from '../json/scan.ts';
import { OutputSample } from '../output-sample.ts';
import type { FrameView } from '../sse.ts';

/** Replaces the bytes from `start` to `end`; null takes them out. */
export interface PlacedEdit {
  readonly start: number;
  readonly end: number;
  readonly text: Buffer | null;
}

/** Edits of one window of bytes, in ascending order. One instance is used again and again, and never shrinks. */
export class EditList {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #texts: (Buffer | null)[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  replace(start: number, end: number, text: Buffer | null): void {
    const at = this.#length++;
    this.#starts[at] = start;
    this.#ends[at] = end;
    this.#texts[at] = text;
  }

  at(index: number): PlacedEdit {
    return { start: this.#starts[index] ?? 0, end: this.#ends[index] ?? 0, text: this.#texts[index] ?? null };
  }

  /** Forgets the edits from this index on. */
  cut(length: number): void {
    this.#length = length;
  }

  /** The bytes from `start` to `end` with the edits from index `first` on made; the same memory where there are none. */
  apply(bytes: Buffer, start: number, end: number, first = 0): Buffer {
    if (first === this.#length) return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    let length = end - start;
    for (let i = first; i < this.#length; i++) {
      length += (this.#texts[i]?.length ?? 0) - ((this.#ends[i] ?? 0) - (this.#starts[i] ?? 0));
    }
    const out = Buffer.allocUnsafe(length);
    let from = start;
    let to = 0;
    for (let i = first; i < this.#length; i++) {
      to += bytes.copy(out, to, from, this.#starts[i]);
      to += this.#texts[i]?.copy(out, to) ?? 0;
      from = this.#ends[i] ?? from;
    }
    bytes.copy(out, to, from, end);
    return out;
  }
}

/** The content of a JSON string, by its offsets. */
export interface Text {
  readonly start: number;
  readonly end: number;
  /** Padding is text that does not count. */
  readonly generated: boolean;
}

/** The names and marks that may end a frame, behind a long string that is not text. All beyond that counts. */
const TAIL_BYTES_FREE = 512;

/** Counts generated text by the raw bytes of the strings that carry it. */
export class OutputCounter {
  bytes = 0;
  readonly sample = new OutputSample();
  readonly encoded = new EncodedOutput();
  /** The last string is sound that is cut off: the frame's further pieces go on with it. */
  #soundCutOff = false;
  /** The last counted string is cut off by the end of what is there: the frame's further pieces are all of it. */
  #cutOff = false;
  /** Bytes behind a string that was not counted, of a frame that flows in pieces; -1 before its end. */
  #tailBytes = -1;
  /** The texts of the current frame: start and end of each, negative for padding, the end 0 where it is cut off. */
  readonly #offsets: number[] = [];
  #offsetCount = 0;
  /** The frame has text that was counted in another way: a frame like it cannot be counted by its offsets. */
  #irregular = false;

  count(scanner: MemberScanner): void {
    this.#cutOff = scanner.stringEnd === -1;
    const start = scanner.valueStart + 1;
    const end = this.#cutOff ? scanner.end : scanner.stringEnd - 1;
    this.bytes += unescapedBytes(scanner.text, start, end);
    if (!this.sample.full) this.sample.addEscaped(scanner.text, start, end);
    // The rest of it would have to be read from pieces that may begin inside an escape.
    if (this.#cutOff) this.sample.close();
    this.#note(start, this.#cutOff ? 0 : end);
  }

  /** Counts what the visited string has beyond so many bytes that were counted before. Returns its length. */
  countBeyond(scanner: MemberScanner, counted: number): number {
    this.#irregular = true;
    const before = this.bytes;
    this.count(scanner);
    const length = this.bytes - before;
    this.bytes = before + Math.max(0, length - counted);
    return length;
  }

  /** Counts the visited string, which a frame like this one need not have again. */
  countBeside(scanner: MemberScanner): void {
    this.#irregular = true;
    this.count(scanner);
  }

  /** What was counted of text, sound and images: it grows with each. */
  get seen(): number {
    return this.bytes + sumOf(this.encoded.tokens ?? undefined);
  }

  /** The visited string is sound. */
  countSound({ valueStart, stringEnd, end }: MemberScanner): void {
    this.#irregular = true;
    this.#soundCutOff = stringEnd === -1;
    this.encoded.addSound((stringEnd === -1 ? end : stringEnd - 1) - valueStart - 1);
  }

  /** The visited string is an image, or where there is one. */
  countImage({ text, valueStart, stringEnd, end }: MemberScanner): void {
    this.#irregular = true;
    const stop = stringEnd === -1 ? end : stringEnd - 1;
    if (stop > valueStart + 1) this.encoded.addImage(text, valueStart + 1, stop);
  }

  add(text: string): void {
    this.#irregular = true;
    this.bytes += Buffer.byteLength(text);
    if (!this.sample.full) this.sample.addUnescaped(text);
  }

  /** What is repeated as a whole has come to so many bytes in all; `texts`: what was repeated last. */
  raise(total: number, texts: Iterable<string>): void {
    if (total <= this.bytes) return;
    this.bytes = total;
    for (const text of texts) if (!this.sample.full) this.sample.addUnescaped(text);
  }

  /** The visited member is a string that changes from frame to frame and is not output. */
  skip(scanner: MemberScanner): void {
    this.#note(-(scanner.valueStart + 1), scanner.stringEnd === -1 ? 0 : -(scanner.stringEnd - 1));
  }

  /** The texts of the current frame in their order; null where they are not all of its text. */
  texts(): readonly Text[] | null {
    if (this.#irregular) return null;
    const texts: Text[] = [];
    for (let i = 0; i < this.#offsetCount; i += 2) {
      const start = this.#offsets[i] ?? 0;
      const end = this.#offsets[i + 1] ?? 0;
      if (end === 0) return null;
      texts.push(start < 0 ? { start: -start, end: -end, generated: false } : { start, end, generated: true });
    }
    return texts;
  }

  startFrame(): void {
    this.#cutOff = false;
    this.#soundCutOff = false;
    this.#tailBytes = -1;
    this.#irregular = false;
    this.#offsetCount = 0;
  }

  #note(start: number, end: number): void {
    this.#offsets[this.#offsetCount++] = start;
    this.#offsets[this.#offsetCount++] = end;
  }

  /** A frame whose text has been counted already. */
  whole(bytes: number): void {
    this.#cutOff = false;
    this.bytes += bytes;
  }

  /** The last text that was added is cut off by the end of what is there. */
  cutOff(): void {
    this.#cutOff = true;
    this.sample.close();
  }

  /** A further piece of a frame whose beginning ended within a string. */
  piece(text: string, start: number, end: number): void {
    if (this.#cutOff) {
      this.bytes += end - start;
      return;
    }
    let from = start;
    if (this.#tailBytes === -1) {
      from = closingQuote(text, start, end);
      if (this.#soundCutOff) this.encoded.addSound((from === -1 ? end : from) - start);
      if (from === -1) return;
      this.#tailBytes = 0;
    }
    const before = Math.max(this.#tailBytes, TAIL_BYTES_FREE);
    this.#tailBytes += end - from;
    this.bytes += Math.max(0, this.#tailBytes - before);
  }
}

/** The public model id as it must stand in every answer. */
export class PublicModel {
  readonly #bytes: Buffer;
  readonly #text: string;

  constructor(id: string) {
    this.#bytes = Buffer.from(JSON.stringify(id));
    this.#text = this.#bytes.toString('latin1');
  }

  /** Asks for the edit where the visited member says something else. */
  put(scanner: MemberScanner, edits: EditList): void {
    const { text, valueStart } = scanner;
    const end = scanner.isString ? scanner.stringEnd : valueEnd(text, valueStart, scanner.end);
    if (end === -1) return;
    if (end - valueStart === this.#text.length && text.startsWith(this.#text, valueStart)) return;
    edits.replace(valueStart, end, this.#bytes);
  }
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** Whether the frame's data can be a JSON object: cheap, and enough to notice one that was cut off. */
export function looksLikeObject(frame: FrameView): boolean {
  const { text } = frame;
  let start = frame.dataStart;
  let end = frame.dataEnd - 1;
  while (start < end && text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end) === SPACE) end--;
  return end > start && text.charCodeAt(start) === OPEN_BRACE && text.charCodeAt(end) === CLOSE_BRACE;
}

/** Whether the visited member `error` says that there is one. */
export function isErrorValue(scanner: MemberScanner): boolean {
  const text = scanner.valueText();
  return text !== 'null' && text !== 'false';
}
