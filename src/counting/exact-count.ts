/** Texts → tokens, by real tokenizers; slow, and therefore only called on the counting worker. Pure. */
import type { Tokenizer } from './tokenizer.ts';

export interface Texts {
  readonly certain: readonly string[];
  readonly definitions: readonly string[];
  readonly others: readonly string[];
}

export interface ExactCount {
  /** Never more than the model reads, whatever its tokenizer. */
  readonly low: number;
  /** The tokens that the model most likely reads. */
  readonly likely: number;
  /** A bound that the model almost never reads more than: docs/understand/counting.md explains the margin. */
  readonly high: number;
  /** Not all of what had to be counted was counted in time. */
  readonly late?: boolean;
}

/** Counts one text; the tokens of its pieces add up. */
export type Encoder = (text: string) => number;

/** One text by all encoders; a cut that was made in it can add a token. */
export interface TextCount {
  readonly least: number;
  readonly most: number;
  readonly cuts: number;
}

export type TextCounter = (text: string) => TextCount;

/**
 * The merging of a piece takes time with the square of its length, so unbroken runs are cut here. A cut can add a token
 * that the whole text would not have.
 */
const RUN_MAX = 128;

/** Per cent of the count. Texts of other scripts differ the most between tokenizers. */
const LOW_OWN = 98;
const LOW_OTHER_ASCII = 75;
const LOW_OTHER = 50;
const HIGH_OWN = 102;
const HIGH_OTHER = 150;

export function countTexts(texts: Texts, tokenizer: Tokenizer, count: TextCounter): ExactCount {
  let low = 0;
  let likely = 0;
  let high = 0;
  for (const [kind, group] of [texts.certain, texts.definitions, texts.others].entries()) {
    for (const text of group) {
      const { least, most, cuts } = count(text);
      if (kind === 0) low += Math.max(0, Math.floor(((least - cuts) * lowPercent(text, tokenizer)) / 100));
      if (kind < 2) likely += most;
      high += highOf(text, most, tokenizer);
    }
  }
  return { low, likely, high };
}

function lowPercent(text: string, tokenizer: Tokenizer): number {
  if (tokenizer !== 'other') return LOW_OWN;
  return isAsciiText(text) ? LOW_OTHER_ASCII : LOW_OTHER;
}

function highOf(text: string, tokens: number, tokenizer: Tokenizer): number {
  const bytes = Buffer.byteLength(text);
  const margin = tokenizer === 'other' ? HIGH_OTHER : HIGH_OWN;
  const counted = Math.ceil((tokens * margin) / 100) + (tokenizer === 'other' ? looseBytes(text) : 0);
  return Math.min(bytes, counted);
}

/** Bytes that small vocabularies read one by one: digits, white space beyond a single one, and other scripts. */
function looseBytes(text: string): number {
  let loose = 0;
  let afterWhiteSpace = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const whiteSpace = code === 0x20 || (code >= 0x09 && code <= 0x0d);
    if (code >= 0x80) loose += code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
    else if ((whiteSpace && afterWhiteSpace) || (code >= 0x30 && code <= 0x39)) loose++;
    afterWhiteSpace = whiteSpace;
  }
  return loose;
}

export function textCounter(encoders: readonly Encoder[]): TextCounter {
  return (text) => {
    const pieces = cutRuns(text);
    const counts = encoders.map((encode) => pieces.reduce((sum, piece) => sum + encode(piece), 0));
    return { least: Math.min(...counts), most: Math.max(...counts), cuts: pieces.length - 1 };
  };
}

/**
 * Only the step between ASCII white space and other ASCII breaks a run: whatever else a tokenizer may take for one piece
 * passes such a step at most twice, so no piece that it sees is longer than three runs.
 */
export function cutRuns(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let run = 0;
  let wasWhite: boolean | null = null;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const white: boolean | null = code >= 0x80 ? wasWhite : code <= 0x20;
    run = white === wasWhite ? run + 1 : 1;
    wasWhite = white;
    const insidePair = code >= 0xdc00 && code < 0xe000;
    if (run > RUN_MAX && !insidePair) {
      pieces.push(text.slice(from, at));
      from = at;
      run = 1;
    }
  }
  pieces.push(text.slice(from));
  return pieces;
}

function isAsciiText(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) >= 0x80) return false;
  return true;
}
