/** A prompt in slices that take some hundredths of a second each to count, so that prompts of several keys can take turns. */
import type { Texts } from './exact-count.ts';

/** The size of a piece in UTF-16 units. A text is cut by itself alone, so that its pieces are the same in every prompt. */
const SLICE_UNITS = 32 * 1_024;
const SPACE_SOUGHT_UNITS = 256;
const KINDS = ['certain', 'definitions', 'others'] as const;

export interface Slice {
  readonly texts: Texts;
  /** How often a text goes on in another piece: each time the pieces can have a token more than the whole. */
  readonly cuts: number;
}

/** The slices of the first `unitsMax` units, at least one. `whole`: these are all of the texts. */
export function slicesOf(
  texts: Texts,
  unitsMax: number,
): { readonly slices: readonly Slice[]; readonly whole: boolean } {
  const slices = [new GrowingSlice()];
  let left = unitsMax;
  for (const kind of KINDS) {
    for (const text of texts[kind]) {
      for (let from = 0; from < text.length; ) {
        if (left <= 0) return { slices, whole: false };
        const end =
          left < SLICE_UNITS ? notInsidePair(text, Math.min(text.length, from + left)) : cutWithin(text, from);
        if ((slices.at(-1)?.units ?? 0) >= SLICE_UNITS) slices.push(new GrowingSlice());
        slices.at(-1)?.add(kind, text.slice(from, end), end < text.length);
        left -= end - from;
        from = end;
      }
    }
  }
  return { slices, whole: true };
}

class GrowingSlice implements Slice {
  readonly texts: Readonly<Record<keyof Texts, string[]>> = { certain: [], definitions: [], others: [] };
  cuts = 0;
  units = 0;

  add(kind: keyof Texts, piece: string, goesOn: boolean): void {
    this.texts[kind].push(piece);
    this.units += piece.length;
    if (goesOn) this.cuts++;
  }
}

/** Where the piece that begins at `from` ends: before a space, where tokenizers cut as well, if there is one near its end. */
function cutWithin(text: string, from: number): number {
  const end = from + SLICE_UNITS;
  if (end >= text.length) return text.length;
  const near = end - SPACE_SOUGHT_UNITS;
  const space = text.slice(near, end).lastIndexOf(' ');
  return space > 0 && text[near + space - 1] !== ' ' ? near + space : notInsidePair(text, end);
}

/** The halves of a surrogate pair are not text. */
function notInsidePair(text: string, end: number): number {
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code < 0xe000 ? end + 1 : end;
}
