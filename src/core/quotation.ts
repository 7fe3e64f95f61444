/**
 * A message without what it quotes of some texts.
 *
 * Both are compared by their letters and digits alone, without case, and with escapes undone, so that a quotation is found
 * however it was written down: as JSON, in HTML, in an address, in other lines. One pass over the texts with a rolling hash,
 * so that a long prompt does not hold other requests up for long.
 */

/** So many letters in a row that a text has as well are a quotation. Inside quotation marks, and as a whole text, fewer are. */
const RUN = 12;
const SHORT_MIN = 4;
export const QUOTED = '[…]';

/** Between two texts: no quotation reaches over it. */
const SEPARATOR = '\u0000';

export interface QuotableTexts {
  /** What was said. */
  readonly said: readonly string[];
  /** Names that the client has chosen. As a whole they are found only inside quotation marks: they are mostly plain words. */
  readonly names: readonly string[];
  /** Words of the interface, which may be named. */
  readonly fields: ReadonlySet<string>;
}

export function withoutQuotations(message: string, { said, names, fields }: QuotableTexts): string {
  const texts = said.join(SEPARATOR);
  const named = names.join(SEPARATOR);
  const marked = withoutMarked(
    message,
    (quoted) => !fields.has(quoted) && (texts.includes(quoted) || named.includes(quoted)),
  );
  const letters = new Letters(marked);
  letters.compare(texts, true);
  letters.compare(named, false);
  return letters.unquoted();
}

const MARKED = /(["'`\u201c\u2018])([^"'`\u201c\u201d\u2018\u2019]{4,})(["'`\u201d\u2019])/g;

function withoutMarked(message: string, isQuoted: (text: string) => boolean): string {
  return message.replace(MARKED, (whole: string, opening: string, text: string, closing: string) =>
    isQuoted(text) ? `${opening}${QUOTED}${closing}` : whole,
  );
}

/** The letters of a message, with where they stand in it. */
class Letters {
  readonly #message: string;
  readonly #codes: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** By the hash of a run of letters: where such runs start. */
  readonly #runs = new Map<number, number[]>();
  /** By the hash of some whole words that are shorter than a run: their first letters and how many there are. */
  readonly #words = new Map<number, { readonly start: number; readonly length: number }[]>();
  /** Whether a hash can be in `#runs`: most of a text is told apart by it. */
  readonly #seen = new Uint8Array(SEEN_MASK + 1);
  readonly #quoted: Uint8Array;

  constructor(message: string) {
    this.#message = message;
    this.#quoted = new Uint8Array(message.length);
    const lower = message.toLowerCase();
    eachLetter(lower.length === message.length ? lower : message, (code, start, end) => {
      this.#codes.push(code);
      this.#starts.push(start);
      this.#ends.push(end);
    });
    for (let start = 0; start < this.#codes.length; start++) this.#index(start);
  }

  /** `whole`: also what consists of a whole text that is shorter than a run. */
  compare(texts: string, whole: boolean): void {
    if (this.#codes.length < SHORT_MIN) return;
    const recent = new Recent();
    const endOfText = (): void => {
      if (whole && recent.length >= SHORT_MIN && recent.length < RUN) this.#markWords(recent);
      recent.clear();
    };
    eachLetter(texts.toLowerCase(), (code) => {
      if (code === 0) endOfText();
      else {
        recent.add(code);
        if (recent.length >= RUN && this.#seen[recent.hash & SEEN_MASK] === 1) this.#markRuns(recent);
      }
    });
    endOfText();
  }

  unquoted(): string {
    let out = '';
    for (let at = 0; at < this.#message.length; at++) {
      if (this.#quoted[at] !== 1) out += this.#message[at];
      else if (this.#quoted[at - 1] !== 1) out += QUOTED;
    }
    return out;
  }

  #index(start: number): void {
    const begins = this.#isApart(start);
    let hash = 0;
    for (let length = 1; length <= RUN && start + length <= this.#codes.length; length++) {
      hash = (Math.imul(hash, BASE) + (this.#codes[start + length - 1] ?? 0)) | 0;
      if (length === RUN) {
        this.#seen[hash & SEEN_MASK] = 1;
        append(this.#runs, hash, start);
      } else if (begins && length >= SHORT_MIN && this.#isApart(start + length)) {
        append(this.#words, hash, { start, length });
      }
    }
  }

  /** Whether a word ends before this letter. */
  #isApart(index: number): boolean {
    return (
      index === 0 ||
      index === this.#codes.length ||
      this.#starts[index] !== this.#ends[index - 1] ||
      (this.#codes[index] ?? 0) >= WIDE
    );
  }

  #markRuns(recent: Recent): void {
    const starts = this.#runs.get(recent.hash);
    if (starts === undefined) return;
    const others: number[] = [];
    for (const start of starts) {
      if (recent.equals(this.#codes, start, RUN)) this.#mark(start, RUN);
      else others.push(start);
    }
    // What is found once need not be found again.
    if (others.length > 0) this.#runs.set(recent.hash, others);
    else this.#runs.delete(recent.hash);
  }

  #markWords(recent: Recent): void {
    for (const { start, length } of this.#words.get(recent.hash) ?? []) {
      if (length === recent.length && recent.equals(this.#codes, start, length)) this.#mark(start, length);
    }
  }

  #mark(start: number, length: number): void {
    this.#quoted.fill(1, this.#starts[start], this.#ends[start + length - 1]);
  }
}

/** The last letters of a text, as many as a run has, and their hash. */
class Recent {
  hash = 0;
  length = 0;
  readonly #codes = new Int32Array(RECENT_MASK + 1);

  add(code: number): void {
    if (this.length >= RUN) {
      const leaving = this.#codes[(this.length - RUN) & RECENT_MASK] ?? 0;
      this.hash = (this.hash - Math.imul(leaving, LEAVING)) | 0;
    }
    this.hash = (Math.imul(this.hash, BASE) + code) | 0;
    this.#codes[this.length & RECENT_MASK] = code;
    this.length += 1;
  }

  /** Whether its last letters are these. */
  equals(codes: readonly number[], start: number, length: number): boolean {
    for (let at = 0; at < length; at++) {
      if (codes[start + at] !== this.#codes[(this.length - length + at) & RECENT_MASK]) return false;
    }
    return true;
  }

  clear(): void {
    this.hash = 0;
    this.length = 0;
  }
}

const RECENT_MASK = 15;
const SEEN_MASK = 0xffff;
const BASE = 0x01000193;
const LEAVING = powerOfBase(RUN - 1);

function powerOfBase(exponent: number): number {
  let power = 1;
  for (let n = 0; n < exponent; n++) power = Math.imul(power, BASE);
  return power;
}

function append<T>(lists: Map<number, T[]>, key: number, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** From here on one character says about as much as a word of others: it counts as three letters. */
const WIDE = 0x2e80;
const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;

/** What JSON, Python, addresses and HTML write instead of a character. In lower case. */
const ESCAPE =
  /\\+(?:u([\da-f]{4})|[bfnrt])|((?:\\+x[\da-f]{2})+|(?:%[\da-f]{2})+)|&(?:#(\d{1,7})|#x([\da-f]{1,6})|amp|lt|gt|quot|apos|nbsp);/iy;

/** Calls `visit` for each letter and digit, and with 0 where a text ends; from `start` to `end` is what it is written as. */
function eachLetter(text: string, visit: (code: number, start: number, end: number) => void): void {
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH || code === PERCENT || code === AMPERSAND) {
      ESCAPE.lastIndex = at;
      const match = ESCAPE.exec(text);
      const end = at + (match?.[0].length ?? 1);
      const meant = match === null ? '' : unescaped(match).toLowerCase();
      for (let n = 0; n < meant.length; n++) visitLetter(meant.charCodeAt(n), at, end, visit);
      at = end;
    } else {
      visitLetter(code, at, at + 1, visit);
      at += 1;
    }
  }
}

function visitLetter(
  code: number,
  start: number,
  end: number,
  visit: (code: number, start: number, end: number) => void,
): void {
  if (!isLetter(code)) return;
  visit(code, start, end);
  if (code < WIDE) return;
  visit(code | 0x10000, start, end);
  visit(code | 0x20000, start, end);
}

/** Roughly: everything but spaces, marks and symbols; and the end of a text. */
function isLetter(code: number): boolean {
  if (code < 0x80) {
    return (
      (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || code === 0
    );
  }
  return code >= 0xc0 && !(code >= 0x2000 && code < WIDE) && !(code >= 0x3000 && code < 0x3040) && code !== 0xfeff;
}

function unescaped([, unit, bytes, decimal, hexadecimal]: RegExpExecArray): string {
  if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
  if (bytes !== undefined) return Buffer.from(bytes.replace(/[^\da-f]/gi, ''), 'hex').toString('utf8');
  const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '0', 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
}
