/**
 * A likely number of tokens without a tokenizer: the text is read once, as byte pair encoders cut it (words, digits in
 * threes, punctuation, white space), and each piece weighs by its kind and length. The reading is a table of steps, one
 * look-up per character. The weights are fitted to o200k_base and cl100k_base; docs/understand/counting.md has the method and the
 * error. Of long text only a sample is read.
 */

/** Read of one prompt at most, in windows spread evenly over it. */
const SAMPLE_MAX = 8_192;
const WINDOW = 512;

/** The kind of a code unit. */
const LOWER = 0;
const UPPER = 1;
const ACCENTED = 2;
const DIGIT = 3;
const SPACE = 4;
const BREAK = 5;
const PUNCTUATION = 6;
/** And from here on a script. */
const SCRIPT = 7;
const KINDS_MAX = 32;

/** First code units of ranges, ascending; the script that begins there, and what each unit of it weighs. */
const OTHER_LETTERS = 0;
const GREEK_CYRILLIC = 1;
const HEBREW_ARABIC = 2;
const INDIC = 3;
const SOUTH_EAST_ASIAN = 4;
const SYMBOLS = 5;
const CJK_PUNCTUATION = 6;
const KANA = 7;
const HAN = 8;
const HANGUL = 9;
const SURROGATES = 10;
const SCRIPT_WEIGHTS = [40, 47, 72, 91, 79, 50, 51, 83, 108, 94, 75];
const RANGES: readonly (readonly [from: number, script: number])[] = [
  [0x0250, OTHER_LETTERS],
  [0x0370, GREEK_CYRILLIC],
  [0x0590, HEBREW_ARABIC],
  [0x0900, INDIC],
  [0x0e00, SOUTH_EAST_ASIAN],
  [0x1e00, OTHER_LETTERS],
  [0x2000, SYMBOLS],
  [0x2e80, CJK_PUNCTUATION],
  [0x3040, KANA],
  [0x3100, CJK_PUNCTUATION],
  [0x3400, HAN],
  [0xa000, SOUTH_EAST_ASIAN],
  [0xac00, HANGUL],
  [0xd800, SURROGATES],
  [0xe000, SYMBOLS],
  [0xf900, HAN],
  [0xfb00, HEBREW_ARABIC],
  [0xff00, CJK_PUNCTUATION],
];

/** Hundredths of a token. A word by its length, after white space and after anything else. */
const WORD_WEIGHTS = [
  [113, 74, 94, 70, 127, 85, 149, 145, 210, 142, 154, 182, 169, 176, 172, 212],
  [70, 185, 133, 71, 80, 70, 71, 86, 83, 141, 163, 194, 182, 202, 213, 215],
] as const;
const WORD_LETTERS_MAX = 16;
const LONG_LETTER_WEIGHT = 53;
/** A capital between the first letter and the small ones, as in random text. */
const INNER_CAPITAL_WEIGHT = 113;
const ACCENTED_WEIGHT = 161;
const DIGIT_TRIPLE_WEIGHT = 87;
const WORD_AFTER_DIGIT_WEIGHT = 38;
const SPACE_BEFORE_DIGIT_WEIGHT = 147;
const PUNCTUATION_WEIGHT = 69;
const PUNCTUATION_MORE_WEIGHT = 37;
const BREAK_WEIGHT = 39;
const SPACE_RUN_WEIGHT = 127;

/** The state of the reading. */
const AFTER_BREAK = 0;
const AFTER_SPACE = 1;
const AFTER_SPACES = 2;
const AFTER_DIGIT = 3;
const AFTER_PUNCTUATION = 6;
const AFTER_PUNCTUATIONS = 7;
const IN_SCRIPT = 8;
const IN_WORD = IN_SCRIPT + SCRIPT_WEIGHTS.length;
const STATES = IN_WORD + 4 * WORD_LETTERS_MAX;

const KINDS = kinds();
/** The steps by state and kind: the next state times 2^16, plus the weight, which may be negative, moved up by 2^15. */
const STEPS = steps();
const WEIGHT_ZERO = 0x8000;

export function likelyTokens(texts: readonly string[]): number {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length === 0) return 0;
  const every = length <= SAMPLE_MAX ? WINDOW : Math.floor((length * WINDOW) / SAMPLE_MAX);
  let hundredths = 0;
  let read = 0;
  let next = 0;
  let offset = 0;
  for (const text of texts) {
    const end = offset + text.length;
    while (next < end) {
      const from = Math.max(0, next - offset);
      const to = length <= SAMPLE_MAX ? text.length : Math.min(text.length, from + WINDOW);
      hundredths += weigh(text, from, to);
      read += to - from;
      next = length <= SAMPLE_MAX ? end : next + every;
    }
    offset = end;
  }
  return Math.ceil((hundredths * length) / (read * 100));
}

function weigh(text: string, from: number, to: number): number {
  let weight = 0;
  let state = AFTER_BREAK;
  for (let at = from; at < to; at++) {
    const step = STEPS[state * KINDS_MAX + (KINDS[text.charCodeAt(at)] as number)] as number;
    state = step >>> 16;
    weight += (step & 0xffff) - WEIGHT_ZERO;
  }
  return weight;
}

function kinds(): Uint8Array {
  const kind = new Uint8Array(0x1_0000).fill(PUNCTUATION, 0, 0xc0).fill(ACCENTED, 0xc0, 0x250);
  for (const [index, [from, script]] of RANGES.entries()) {
    kind.fill(SCRIPT + script, from, RANGES[index + 1]?.[0] ?? 0x1_0000);
  }
  kind.fill(LOWER, 0x61, 0x7b).fill(UPPER, 0x41, 0x5b).fill(DIGIT, 0x30, 0x3a).fill(BREAK, 0x09, 0x0e);
  kind[0x20] = SPACE;
  return kind;
}

interface Step {
  readonly state: number;
  readonly weight: number;
}

function steps(): Uint32Array {
  const table = new Uint32Array(STATES * KINDS_MAX);
  for (let state = 0; state < STATES; state++) {
    for (let kind = 0; kind < SCRIPT + SCRIPT_WEIGHTS.length; kind++) {
      const { state: next, weight } = stepFrom(state, kind);
      table[state * KINDS_MAX + kind] = next * 0x1_0000 + weight + 0x8000;
    }
  }
  return table;
}

function stepFrom(state: number, kind: number): Step {
  if (kind >= SCRIPT) {
    return { state: IN_SCRIPT + kind - SCRIPT, weight: SCRIPT_WEIGHTS[kind - SCRIPT] ?? 0 };
  }
  switch (kind) {
    case SPACE:
      if (state === AFTER_SPACE) return { state: AFTER_SPACES, weight: SPACE_RUN_WEIGHT };
      return { state: state === AFTER_SPACES ? AFTER_SPACES : AFTER_SPACE, weight: 0 };
    case BREAK:
      return { state: AFTER_BREAK, weight: state === AFTER_BREAK ? 0 : BREAK_WEIGHT };
    case PUNCTUATION: {
      const more = state === AFTER_PUNCTUATION || state === AFTER_PUNCTUATIONS;
      return more
        ? { state: AFTER_PUNCTUATIONS, weight: PUNCTUATION_MORE_WEIGHT }
        : { state: AFTER_PUNCTUATION, weight: PUNCTUATION_WEIGHT };
    }
    case DIGIT: {
      const place = state >= AFTER_DIGIT && state < AFTER_DIGIT + 3 ? state - AFTER_DIGIT : 2;
      const space = state === AFTER_SPACE ? SPACE_BEFORE_DIGIT_WEIGHT : 0;
      return place === 2
        ? { state: AFTER_DIGIT, weight: DIGIT_TRIPLE_WEIGHT + space }
        : { state: AFTER_DIGIT + place + 1, weight: 0 };
    }
    default:
      return letterFrom(state, kind);
  }
}

/** The words' states: after white space or not, capitals only or not, by length. */
function wordState(inner: number, mixed: number, letters: number): number {
  return IN_WORD + (inner * 2 + mixed) * WORD_LETTERS_MAX + letters - 1;
}

function letterFrom(state: number, kind: number): Step {
  const accent = kind === ACCENTED ? ACCENTED_WEIGHT : 0;
  const mixed = kind === UPPER ? 0 : 1;
  const place = state - IN_WORD;
  const wasMixed = Math.floor(place / WORD_LETTERS_MAX) % 2;
  // A small letter before a capital ends the word.
  if (place < 0 || (kind === UPPER && wasMixed === 1)) {
    const inner = state === AFTER_BREAK || state === AFTER_SPACE || state === AFTER_SPACES ? 0 : 1;
    const digit = state >= AFTER_DIGIT && state < AFTER_DIGIT + 3 ? WORD_AFTER_DIGIT_WEIGHT : 0;
    return { state: wordState(inner, mixed, 1), weight: wordWeight(inner, 1) + digit + accent };
  }
  const inner = Math.floor(place / (2 * WORD_LETTERS_MAX));
  const letters = (place % WORD_LETTERS_MAX) + 1;
  const capitals = wasMixed === 0 && mixed === 1 ? (letters - 1) * INNER_CAPITAL_WEIGHT : 0;
  const grown = Math.min(letters + 1, WORD_LETTERS_MAX);
  const growth = grown === letters ? LONG_LETTER_WEIGHT : wordWeight(inner, grown) - wordWeight(inner, letters);
  return { state: wordState(inner, mixed, grown), weight: growth + capitals + accent };
}

function wordWeight(inner: number, letters: number): number {
  return WORD_WEIGHTS[inner]?.[letters - 1] ?? 0;
}
