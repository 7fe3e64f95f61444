/**
 * Where the content of a message ends, and how it is read out of the bytes of a connection. Strict: what RFC 9112 leaves
 * open to interpretation is malformed, so that two readers cannot disagree about where the next message begins.
 */
import { Http1Error } from '../errors.ts';
import { checkTrailerName, type Framing } from '../framing.ts';

const SIZE_DIGITS_MAX = 16;
const EXTENSION_BYTES_MAX = 1_024;
/** What is behind the first semicolon: names, each with a token, a quoted string or nothing as its value. */
const EXTENSION =
  /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?(?:;(?!$)|$))+$/;
const TRAILER_BYTES_MAX = 8_192;
const TRAILER_FIELDS = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
const LINE_END = '\r\n';
const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;

type Place = 'content' | 'size' | 'extension' | 'size_lf' | 'content_cr' | 'content_lf' | 'trailer' | 'done';

/** Created per message. */
export class BodyReader {
  readonly #kind: Framing['kind'];
  #place: Place;
  /** Of the content, or of the current chunk; without a bound where only the close ends it. */
  #bytesLeft: number;
  #sizeDigits = 0;
  #extension = '';
  /** Begins with the end of the line before, so that an empty trailer ends like any other. */
  #trailer = LINE_END;

  constructor(framing: Framing) {
    this.#kind = framing.kind;
    if (framing.kind === 'chunked') {
      this.#bytesLeft = 0;
      this.#place = 'size';
    } else {
      this.#bytesLeft = framing.kind === 'length' ? framing.bytes : Number.POSITIVE_INFINITY;
      this.#place = this.#bytesLeft === 0 ? 'done' : 'content';
    }
  }

  get done(): boolean {
    return this.#place === 'done';
  }

  /**
   * Reads content from `chunk` beginning at `from` and calls `onData` at most once, with all of it; `chunk` itself where
   * it is nothing else. Returns the offset behind what was consumed; bytes behind a complete body are not touched.
   * Throws Http1Error, after the content before the error was passed on.
   */
  push(chunk: Buffer, from: number, onData: (content: Buffer) => void): number {
    let at = from;
    let content: Buffer | null = null;
    let more: Buffer[] | null = null;
    try {
      while (at < chunk.length && this.#place !== 'done') {
        if (this.#place !== 'content') {
          at = this.#readBetween(chunk, at);
          continue;
        }
        const end = Math.min(chunk.length, at + this.#bytesLeft);
        const piece = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end);
        if (content === null) content = piece;
        else {
          more ??= [content];
          more.push(piece);
        }
        this.#bytesLeft -= piece.length;
        at = end;
        if (this.#bytesLeft === 0) this.#place = this.#kind === 'chunked' ? 'content_cr' : 'done';
      }
    } finally {
      if (content !== null) onData(more === null ? content : Buffer.concat(more));
    }
    return at;
  }

  /** The peer has closed. True when the body is complete by that. */
  end(): boolean {
    if (this.#kind === 'until_close') this.#place = 'done';
    return this.#place === 'done';
  }

  /** One step through what stands between the pieces of a chunked body. */
  #readBetween(chunk: Buffer, at: number): number {
    const byte = chunk[at];
    switch (this.#place) {
      case 'size':
        return this.#readSize(chunk, at);
      case 'extension':
        return this.#readExtension(chunk, at);
      case 'size_lf':
        if (byte !== LF) throw malformed('chunk size without CRLF');
        this.#place = this.#bytesLeft === 0 ? 'trailer' : 'content';
        return at + 1;
      case 'content_cr':
        if (byte !== CR) throw malformed('chunk longer than its size');
        this.#place = 'content_lf';
        return at + 1;
      case 'content_lf':
        if (byte !== LF) throw malformed('chunk without CRLF');
        this.#place = 'size';
        this.#sizeDigits = 0;
        return at + 1;
      default:
        return this.#readTrailer(chunk, at);
    }
  }

  #readSize(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      const digit = hexDigit(byte);
      if (digit === -1) {
        if (this.#sizeDigits === 0 || (byte !== CR && byte !== SEMICOLON)) throw malformed('invalid chunk size');
        this.#place = byte === CR ? 'size_lf' : 'extension';
        this.#extension = '';
        return at + 1;
      }
      this.#sizeDigits += 1;
      this.#bytesLeft = this.#bytesLeft * 16 + digit;
      if (this.#sizeDigits > SIZE_DIGITS_MAX || this.#bytesLeft > Number.MAX_SAFE_INTEGER) {
        throw malformed('chunk size too large');
      }
    }
    return at;
  }

  #readExtension(chunk: Buffer, from: number): number {
    const end = chunk.indexOf(CR, from);
    const to = end === -1 ? chunk.length : end;
    if (this.#extension.length + to - from > EXTENSION_BYTES_MAX) throw tooLarge('chunk extension too long');
    this.#extension += chunk.toString('latin1', from, to);
    if (end === -1) return to;
    if (!EXTENSION.test(this.#extension)) throw malformed('invalid chunk extension');
    this.#place = 'size_lf';
    return to + 1;
  }

  #readTrailer(chunk: Buffer, at: number): number {
    const before = this.#trailer.length;
    const text = this.#trailer + chunk.toString('latin1', at, Math.min(chunk.length, at + TRAILER_BYTES_MAX + 1));
    const end = text.indexOf('\r\n\r\n');
    if (end > TRAILER_BYTES_MAX || (end === -1 && text.length > TRAILER_BYTES_MAX)) {
      throw tooLarge('trailer too long');
    }
    if (end === -1) {
      this.#trailer = text;
      return chunk.length;
    }
    const fields = text.slice(LINE_END.length, end + LINE_END.length);
    if (!TRAILER_FIELDS.test(fields)) throw malformed('invalid trailer');
    for (const line of fields.split(LINE_END)) checkTrailerName(line.slice(0, Math.max(0, line.indexOf(':'))));
    this.#place = 'done';
    return at + end + 2 * LINE_END.length - before;
  }
}

/** -1 for what is not a hexadecimal digit. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function malformed(message: string): Http1Error {
  return new Http1Error('malformed', message);
}

function tooLarge(message: string): Http1Error {
  return new Http1Error('too_large', message);
}
