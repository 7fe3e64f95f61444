/**
 * Structure of a JSON text without parsing it. Every function works on the Latin-1 view of the UTF-8 bytes
 * (`buffer.toString('latin1')`): one character is one byte, so offsets are byte offsets, and JSON's own marks are ASCII and
 * never part of a longer UTF-8 character. Strings are hopped over with the native search, never character by character.
 *
 * The text is assumed to be well-formed; on anything else the functions stop early or return -1, and never fail.
 */
export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACE = 0x7d;
export const CLOSE_BRACKET = 0x5d;

export interface Member {
  readonly name: string;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The members of one object, in the order of the text. */
export interface Layout {
  /** Offset of the opening brace. */
  readonly open: number;
  readonly members: readonly Member[];
  /** How many members the text has at all depths, each as often as it is given. */
  readonly membersInAll: number;
  /** How many values it has, itself, the members of objects and the elements of arrays at all depths. */
  readonly valuesInAll: number;
}

/** What is counted in a value, at all depths. */
export interface Tally {
  members: number;
  /** Members of objects and elements of arrays. */
  values: number;
  /** The most bytes of a number, or of another value without quotes or brackets; the scan ends at a longer one. */
  readonly scalarMax: number;
  hasLongScalar: boolean;
}

/** The bytes from `start` up to, not including, `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

export type LayoutRefusal = 'too deep' | 'too many members' | 'long number';

const ANY = Number.MAX_SAFE_INTEGER;
const NO_LIMITS = { depthMax: ANY, membersMax: ANY, scalarMax: ANY };

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** Offset of the quote that closes the string whose content begins at `from`; -1 when there is none before `end`. */
export function closingQuote(text: string, from: number, end: number): number {
  let at = text.indexOf('"', from);
  while (at !== -1 && at < end) {
    if (text.charCodeAt(at - 1) !== BACKSLASH) return at;
    let before = at - 1;
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
    at = text.indexOf('"', at + 1);
  }
  return -1;
}

/**
 * Offset just behind the value that begins at `start`; -1 when it does not end before `end`. `tally` counts what is in the
 * value.
 */
export function valueEnd(
  text: string,
  start: number,
  end: number,
  depthMax = Number.MAX_SAFE_INTEGER,
  tally: Tally | null = null,
): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) {
    const close = closingQuote(text, start + 1, end);
    return close === -1 ? -1 : close + 1;
  }
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    return tally === null ? scalarEnd(text, start, end) : boundedScalarEnd(text, start, end, tally);
  }
  let depth = 0;
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at + 1, end);
      if (at === -1) return -1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > depthMax) return -1;
      if (tally !== null && !closesNext(text, at + 1)) tally.values++;
    } else if (code === COMMA) {
      if (tally !== null) tally.values++;
    } else if (code === COLON) {
      if (tally !== null) tally.members++;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (--depth === 0) return at + 1;
    } else if (tally !== null && code > SPACE) {
      at = boundedScalarEnd(text, at, end, tally);
      if (at === -1) return -1;
      continue;
    }
    at++;
  }
  return -1;
}

function closesNext(text: string, from: number): boolean {
  const code = text.charCodeAt(skipSpace(text, from));
  return code === CLOSE_BRACE || code === CLOSE_BRACKET;
}

function scalarEnd(text: string, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
    at++;
  }
  return at;
}

/** -1 for one that is too long. */
function boundedScalarEnd(text: string, start: number, end: number, tally: Tally): number {
  const to = scalarEnd(text, start, Math.min(end, start + tally.scalarMax + 1));
  tally.hasLongScalar = to - start > tally.scalarMax;
  return tally.hasLongScalar ? -1 : to;
}

/**
 * The layout of the object at `start`. Null where the text is not a well-formed object as far as it was looked at; a
 * refusal where it is nested deeper than `depthMax`, has more than `membersMax` members of its own, or a number that is too long.
 */
export function objectLayout(
  text: string,
  start: number,
  { depthMax, membersMax, scalarMax }: Readonly<typeof NO_LIMITS>,
): Layout | LayoutRefusal | null {
  const open = skipSpace(text, start);
  if (text.charCodeAt(open) !== OPEN_BRACE) return null;
  const members: Member[] = [];
  const inner: Tally = { members: 0, values: 0, scalarMax, hasLongScalar: false };
  let at = skipSpace(text, open + 1);
  if (text.charCodeAt(at) === CLOSE_BRACE) return { open, members, membersInAll: 0, valuesInAll: 1 };
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return null;
    const close = closingQuote(text, at + 1, text.length);
    if (close === -1) return null;
    const colon = skipSpace(text, close + 1);
    if (text.charCodeAt(colon) !== COLON) return null;
    const from = skipSpace(text, colon + 1);
    const to = valueEnd(text, from, text.length, depthMax - 1, inner);
    if (inner.hasLongScalar) return 'long number';
    if (to === -1) return valueEnd(text, from, text.length) === -1 ? unclosed(text, from, depthMax) : 'too deep';
    if (members.length === membersMax) return 'too many members';
    members.push({ name: memberName(text, at, close), valueStart: from, valueEnd: to });
    const mark = skipSpace(text, to);
    if (text.charCodeAt(mark) === CLOSE_BRACE) {
      const { length } = members;
      return { open, members, membersInAll: length + inner.members, valuesInAll: 1 + length + inner.values };
    }
    if (text.charCodeAt(mark) !== COMMA) return null;
    at = skipSpace(text, mark + 1);
  }
}

/** A value that never ends can still be too deep: it must be found before a parser descends into it. */
function unclosed(text: string, start: number, depthMax: number): LayoutRefusal | null {
  let depth = 1;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at + 1, text.length);
      if (at === -1) return null;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > depthMax) return 'too deep';
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
    }
  }
  return null;
}

/** The elements of the list at `start` that are objects, with their places in it, in the order of the text. */
export function* objectsOfList(
  text: string,
  start: number,
  end: number,
): Generator<Range & { readonly index: number }> {
  let at = skipSpace(text, start + 1);
  for (let index = 0; at < end && text.charCodeAt(at) !== CLOSE_BRACKET; index++) {
    const elementEnd = valueEnd(text, at, end);
    if (elementEnd === -1) return;
    if (text.charCodeAt(at) === OPEN_BRACE) yield { index, start: at, end: elementEnd };
    at = skipSpace(text, elementEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
}

/** The layout of the object at `start`, however deep and long it is; null where there is none. */
export function layoutAt(text: string, start: number): Layout | null {
  const layout = objectLayout(text, start, NO_LIMITS);
  return typeof layout === 'string' ? null : layout;
}

/** The name as text: most are plain, the others are decoded. */
export function memberName(text: string, openQuote: number, closeQuote: number): string {
  const view = text.slice(openQuote + 1, closeQuote);
  let plain = true;
  for (let i = 0; i < view.length; i++) {
    const code = view.charCodeAt(i);
    if (code > 0x7f || code === BACKSLASH) plain = false;
  }
  if (plain) return view;
  const raw = Buffer.from(view, 'latin1').toString();
  try {
    const decoded: unknown = JSON.parse(`"${raw}"`);
    return typeof decoded === 'string' ? decoded : raw;
  } catch {
    return raw;
  }
}

/**
 * Visits every object member of a JSON text at every depth, in the order of the text, and the strings in lists, which have
 * an empty key. One instance is used again and again: nothing is allocated per member.
 */
export class MemberScanner {
  text = '';
  end = 0;
  /** How many objects and arrays are open around the member: 1 for the members of the outermost object. */
  depth = 0;
  keyStart = 0;
  keyEnd = 0;
  valueStart = 0;
  /** Behind the closing quote of a string value; -1 for other values, and for a string that `end` cuts off. */
  stringEnd = -1;
  /** The member of the outermost object that the visited one belongs to (or is). */
  topStart = 0;
  topEnd = 0;
  #at = 0;

  begin(text: string, start: number, end: number): void {
    this.text = text;
    this.end = end;
    this.depth = 0;
    this.topStart = 0;
    this.topEnd = 0;
    this.#at = start;
  }

  /** Lets go of the text, so that an idle stream keeps nothing alive. */
  release(): void {
    this.text = '';
  }

  next(): boolean {
    const { text, end } = this;
    let at = this.#at;
    while (at < end) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const close = closingQuote(text, at + 1, end);
        if (close === -1) break;
        const after = text.charCodeAt(close + 1) === COLON ? close + 1 : skipSpace(text, close + 1);
        if (text.charCodeAt(after) === COLON && after < end) {
          this.#visit(at + 1, close, skipSpace(text, after + 1));
          return true;
        }
        this.keyStart = at;
        this.keyEnd = at;
        this.valueStart = at;
        this.stringEnd = close + 1;
        this.#at = after;
        return true;
      }
      if (code === OPEN_BRACE || code === OPEN_BRACKET) this.depth++;
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.depth--;
      at++;
    }
    this.#at = end;
    return false;
  }

  /** Members inside the visited value are not visited. */
  skip(): void {
    if (this.isString) return;
    const to = valueEnd(this.text, this.valueStart, this.end);
    this.#at = to === -1 ? this.end : to;
  }

  key(): string {
    return this.text.slice(this.keyStart, this.keyEnd);
  }

  #visit(keyStart: number, keyEnd: number, valueStart: number): void {
    this.keyStart = keyStart;
    this.keyEnd = keyEnd;
    this.valueStart = valueStart;
    this.stringEnd = -1;
    this.#at = valueStart;
    if (this.depth === 1) {
      this.topStart = keyStart;
      this.topEnd = keyEnd;
    }
    if (this.text.charCodeAt(valueStart) === QUOTE) {
      const close = closingQuote(this.text, valueStart + 1, this.end);
      this.stringEnd = close === -1 ? -1 : close + 1;
      this.#at = close === -1 ? this.end : close + 1;
    }
  }

  keyIs(name: string): boolean {
    return matches(this.text, this.keyStart, this.keyEnd, name);
  }

  topIs(name: string): boolean {
    return matches(this.text, this.topStart, this.topEnd, name);
  }

  /** Whether the value begins with this character code. */
  opensWith(code: number): boolean {
    return this.text.charCodeAt(this.valueStart) === code;
  }

  get isString(): boolean {
    return this.text.charCodeAt(this.valueStart) === QUOTE;
  }

  /** Whether `end` cuts the value off. */
  get isCutOff(): boolean {
    return this.stringEnd === -1 && valueEnd(this.text, this.valueStart, this.end) === -1;
  }

  /** Whether the value is the string `value`, written without escapes. */
  stringIs(value: string): boolean {
    return this.stringEnd - this.valueStart - 2 === value.length && this.text.startsWith(value, this.valueStart + 1);
  }

  /** The value's own text; only meaningful when it ends before `end`. */
  valueText(): string {
    const to = this.stringEnd === -1 ? valueEnd(this.text, this.valueStart, this.end) : this.stringEnd;
    return this.text.slice(this.valueStart, to === -1 ? this.end : to);
  }
}

/** Length and first character distinguish nearly all names, and cost almost nothing. */
function matches(text: string, start: number, end: number, name: string): boolean {
  if (end - start !== name.length || text.charCodeAt(start) !== name.charCodeAt(0)) return false;
  for (let i = 1; i < name.length; i++) {
    if (text.charCodeAt(start + i) !== name.charCodeAt(i)) return false;
  }
  return true;
}

/** The UTF-8 length of the text that a JSON string's content, from `start` to `end`, decodes to. */
export function unescapedBytes(text: string, start: number, end: number): number {
  let bytes = end - start;
  // The slice bounds the search: a window may hold many frames behind this string.
  const content = text.slice(start, end);
  let at = content.indexOf('\\');
  while (at !== -1) {
    if (content.charCodeAt(at + 1) === 0x75) {
      bytes -= 6 - utf8Share(Number.parseInt(content.slice(at + 2, at + 6), 16));
      at = content.indexOf('\\', at + 6);
    } else {
      bytes -= 1;
      at = content.indexOf('\\', at + 2);
    }
  }
  return bytes;
}

/** UTF-8 bytes of one UTF-16 unit; each half of a surrogate pair counts for two of the pair's four. */
function utf8Share(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff)) return 2;
  return 3;
}
