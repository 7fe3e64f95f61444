/**
 * A token of the sandbox is a piece of whole code points, at most 4 bytes of UTF-8 long, that holds white space only as its
 * first character. Text is cut greedily from the left, therefore
 * - every piece has at least one byte: a text never has more tokens than bytes;
 * - the pieces of the beginning of a text are the beginning of its pieces;
 * - white space always begins a new piece, so appending " and" adds exactly one token.
 */
const PIECE_BYTES_MAX = 4;

function isWhiteSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

function pieceEnd(text: string, start: number): number {
  let bytes = 0;
  let end = start;
  while (end < text.length) {
    const code = text.codePointAt(end) ?? 0;
    if (end > start && isWhiteSpace(code)) break;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > PIECE_BYTES_MAX) break;
    end += code < 0x10000 ? 1 : 2;
  }
  return end;
}

export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = pieceEnd(text, at)) count += 1;
  return count;
}

/** The first `max` pieces of `text`; joined again they are the text, or its beginning. */
export function tokenize(text: string, max = Number.POSITIVE_INFINITY): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length && pieces.length < max; ) {
    const end = pieceEnd(text, at);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
