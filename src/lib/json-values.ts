/**
 * Whether a JSON text has more values than a limit, members of objects and elements of arrays at every depth counted, found
 * in its bytes before anything is built of them: a million empty objects take a gigabyte once they are parsed. What is not
 * JSON is left to the parser.
 */
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;
/** A string that is shorter is read faster than it is searched. */
const SHORT_STRING_BYTES = 32;

export function hasMoreValues(bytes: Buffer, max: number): boolean {
  // A value takes at least a byte, and another one before it: what is short cannot have so many.
  if (bytes.length < 2 * max) return false;
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at];
    if (code === QUOTE) {
      at = closingQuote(bytes, at + 1);
      if (at === -1) return false;
    } else if (code === COMMA) {
      values++;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      while (at + 1 < bytes.length && (bytes[at + 1] ?? 0) <= SPACE) at++;
      const next = bytes[at + 1];
      if (next !== CLOSE_BRACE && next !== CLOSE_BRACKET) values++;
    }
    if (values > max) return true;
  }
  return false;
}

/** Of the string whose content begins at `from`; -1 where there is none. */
function closingQuote(bytes: Buffer, from: number): number {
  const near = Math.min(from + SHORT_STRING_BYTES, bytes.length);
  let at = from;
  while (at < near && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  if (at < near) return at;
  const rest = at;
  at = bytes.indexOf(QUOTE, rest);
  while (at !== -1) {
    let before = at - 1;
    while (before >= rest && bytes[before] === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
    at = bytes.indexOf(QUOTE, at + 1);
  }
  return -1;
}
