/** The head of a message: a start line and header fields, parsed strictly. What is ambiguous is refused, not repaired. */
import { Http1Error } from '../errors.ts';
import { isNamed } from '../header-list.ts';

/** `fields` is flat: name, value, name, value, as they came; values without the white space around them. */
export interface Head {
  readonly startLine: string;
  readonly fields: readonly string[];
}

const HEAD_END = Buffer.from('\r\n\r\n');
/**
 * A whole head without the empty line at its end, in one test: every line but the first is a token, a colon and a value
 * without control characters. So there is no folded line, no space before a colon, no bare CR or LF, and no NUL.
 */
const WELL_FORMED = /^[\t\x20-\x7e\x80-\xff]+(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/;
/** What no part of a head may contain, wherever it was cut. */
const FORBIDDEN = /[^\t\r\n\x20-\x7e\x80-\xff]|[^\r]\n|\r[^\n]/;
const FRAMING = /^(?:content-length|transfer-encoding)$/i;
const FIRST_KEPT_BYTES = 1_024;
const [TAB, LF, CR, SPACE] = [9, 10, 13, 32];

export interface HeadReaderOptions {
  /** Some clients end a body with an empty line that is not part of it; a server lets one of them pass. */
  readonly skipsEmptyLine?: boolean;
}

/** Collects bytes until a head is complete. Used again for the next head of the same connection. */
export class HeadReader {
  /** After a head: where in the last chunk the bytes behind it begin. */
  rest = 0;
  readonly #bytesMax: number;
  readonly #skipsEmptyLine: boolean;
  /** The beginning of a head that came in pieces. */
  #kept: Buffer | null = null;
  #keptBytes = 0;

  constructor(bytesMax: number, { skipsEmptyLine = false }: HeadReaderOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#skipsEmptyLine = skipsEmptyLine;
  }

  /** Whether nothing is kept: the next head begins with the next byte. */
  get empty(): boolean {
    return this.#keptBytes === 0;
  }

  /** Whether some bytes of a head have come, and not all. */
  get begun(): boolean {
    return this.#keptBytes > this.#emptyLineBytes();
  }

  /** The head, or null while it is not complete. Throws an Http1Error. */
  push(chunk: Buffer, from: number): Head | null {
    const end = this.#keptBytes === 0 ? chunk.indexOf(HEAD_END, from) : -1;
    if (end === -1) return this.#collect(chunk, from);
    this.rest = end + HEAD_END.length;
    return this.#parse(chunk, from, end);
  }

  #collect(chunk: Buffer, from: number): Head | null {
    const before = this.#keptBytes;
    const kept = this.#keep(chunk, from);
    const end = kept.indexOf(HEAD_END, Math.max(0, before - HEAD_END.length + 1));
    if (end === -1) {
      // What can never become a head is not waited for.
      if (kept[0] === LF || FORBIDDEN.test(kept.toString('latin1', Math.max(0, before - 1)))) throw malformed();
      if (kept.length > this.#bytesMax + HEAD_END.length) throw tooLarge();
      return null;
    }
    this.rest = from + end + HEAD_END.length - before;
    this.#kept = null;
    this.#keptBytes = 0;
    return this.#parse(kept, 0, end);
  }

  /** All that is kept: as much as can belong to a head within its bound, and a bit more, which tells that it is over it. */
  #keep(chunk: Buffer, from: number): Buffer {
    const before = this.#keptBytes;
    const bytes = Math.min(before + chunk.length - from, this.#bytesMax + 2 * HEAD_END.length);
    if (this.#kept === null || this.#kept.length < bytes) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_KEPT_BYTES, bytes, 2 * before));
      this.#kept?.copy(larger, 0, 0, before);
      this.#kept = larger;
    }
    chunk.copy(this.#kept, before, from, from + bytes - before);
    this.#keptBytes = bytes;
    return this.#kept.subarray(0, bytes);
  }

  #emptyLineBytes(): number {
    if (!this.#skipsEmptyLine || this.#kept?.[0] !== CR) return 0;
    return this.#keptBytes > 1 && this.#kept[1] !== LF ? 0 : 2;
  }

  #parse(bytes: Buffer, from: number, end: number): Head {
    let start = from;
    if (this.#skipsEmptyLine && bytes[start] === CR && bytes[start + 1] === LF) start += 2;
    if (end - start > this.#bytesMax) throw tooLarge();
    const text = bytes.toString('latin1', start, end);
    if (!WELL_FORMED.test(text)) throw malformed();
    return split(text);
  }
}

function split(text: string): Head {
  let at = text.indexOf('\r\n');
  if (at === -1) return { startLine: text, fields: [] };
  const startLine = text.slice(0, at);
  const fields: string[] = [];
  while (at !== -1) {
    const nameAt = at + 2;
    const colon = text.indexOf(':', nameAt);
    at = text.indexOf('\r\n', colon);
    let from = colon + 1;
    let to = at === -1 ? text.length : at;
    while (from < to && isBlank(text.charCodeAt(from))) from += 1;
    while (to > from && isBlank(text.charCodeAt(to - 1))) {
      // Some readers would not know `chunked` with a tab behind it, and look for the end of the message elsewhere.
      if (text.charCodeAt(to - 1) === TAB && FRAMING.test(text.slice(nameAt, colon))) throw malformed();
      to -= 1;
    }
    fields.push(text.slice(nameAt, colon), text.slice(from, to));
  }
  return { startLine, fields };
}

function isBlank(character: number): boolean {
  return character === SPACE || character === TAB;
}

function malformed(): Http1Error {
  return new Http1Error('malformed', 'invalid header syntax');
}

function tooLarge(): Http1Error {
  return new Http1Error('too_large', 'header too large');
}

/** The first value of a field, by its name in lower case. */
export function field(head: Head, lowerName: string): string | undefined {
  const { fields } = head;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i];
    if (name !== undefined && isNamed(name, lowerName)) return fields[i + 1];
  }
  return undefined;
}
