/**
 * Directives that the last user message may have for the sandbox, anywhere in its text and in any combination:
 *
 * | Directive          | Effect |
 * |---|---|
 * | `[[tokens=N]]`     | exactly N output tokens, thinking included (never less than the tool calls need); 0 to 1,000,000 |
 * | `[[delay=MS]]`     | one token per chunk, the delay before each; a whole answer waits the sum; before an error: once |
 * | `[[wait=MS]]`      | nothing, not even the headers, is sent before that time |
 * | `[[status=CODE]]`  | that HTTP status (300 to 599; others are ignored) with an error body in the format's style |
 * | `[[fail-after=N]]` | the connection breaks after N content chunks, a whole answer breaks in the middle of its body; 0: it is reset before the headers; an answer of fewer chunks ends well |
 * | `[[tool]]`         | calls the first tool; `[[tool=N]]` makes N calls, taking the tools in turn |
 * | `[[thinking]]`     | a thinking part comes before the rest |
 * | `[[usage=none]]`   | usage is reported nowhere |
 * | `[[echo]]`         | the answer's text is the request's body as it arrived, byte for byte |
 * | `[[headers]]`      | the answer's text is the JSON of the request's headers as they arrived |
 * | `[[strict]]`       | refuses what the real APIs refuse (`strict.ts`) |
 *
 * The output limit holds for all of them; stop sequences are not applied to `[[echo]]` and `[[headers]]`.
 * Unknown directives are plain text. Where one is given twice, the last one wins.
 */
export interface Directives {
  readonly tokens: number | undefined;
  readonly delayMs: number | undefined;
  readonly waitMs: number | undefined;
  readonly status: number | undefined;
  readonly failAfter: number | undefined;
  /** How many tool calls are asked for; 0 is none. */
  readonly tool: number;
  readonly thinking: boolean;
  readonly usage: boolean;
  readonly echo: boolean;
  readonly headers: boolean;
  readonly strict: boolean;
  /** The text without its directives. */
  readonly rest: string;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** No directive is longer, brackets included: the search for its end is bounded. */
const LENGTH_MAX = 32;
const TOKENS_MAX = 1_000_000;
const MS_MAX = 600_000;
const CALLS_MAX = 64;

/** The value as an integer from `min` to `max`, larger ones lowered to `max`; undefined where it is not such a number. */
function bounded(value: string, min: number, max: number): number | undefined {
  if (value.length === 0) return undefined;
  let sum = 0;
  for (const digit of value) {
    if (digit < '0' || digit > '9') return undefined;
    sum = sum * 10 + Number(digit);
  }
  return sum < min ? undefined : Math.min(sum, max);
}

type Numeric = 'tokens' | 'delayMs' | 'waitMs' | 'status' | 'failAfter' | 'tool';
const NUMERIC: ReadonlyMap<string, readonly [Numeric, number, number]> = new Map([
  ['tokens', ['tokens', 0, TOKENS_MAX]],
  ['delay', ['delayMs', 0, MS_MAX]],
  ['wait', ['waitMs', 0, MS_MAX]],
  ['status', ['status', 0, 1000]],
  ['fail-after', ['failAfter', 0, TOKENS_MAX]],
  ['tool', ['tool', 1, CALLS_MAX]],
]);
const FIXED: ReadonlyMap<string, Partial<Directives>> = new Map<string, Partial<Directives>>([
  ['tool', { tool: 1 }],
  ['thinking', { thinking: true }],
  ['usage=none', { usage: false }],
  ['echo', { echo: true }],
  ['headers', { headers: true }],
  ['strict', { strict: true }],
]);

/** Applies one directive; false where it is unknown. */
function apply(found: Mutable<Directives>, inner: string): boolean {
  const fixed = FIXED.get(inner);
  if (fixed !== undefined) {
    Object.assign(found, fixed);
    return true;
  }
  const equals = inner.indexOf('=');
  const numeric = NUMERIC.get(inner.slice(0, Math.max(0, equals)));
  if (numeric === undefined) return false;
  const [name, min, max] = numeric;
  const value = bounded(inner.slice(equals + 1), min, max);
  if (value === undefined) return false;
  found[name] = value;
  return true;
}

/** Reads the text once, from left to right. */
export function parseDirectives(text: string): Directives {
  const found: Mutable<Directives> = {
    tokens: undefined,
    delayMs: undefined,
    waitMs: undefined,
    status: undefined,
    failAfter: undefined,
    tool: 0,
    thinking: false,
    usage: true,
    echo: false,
    headers: false,
    strict: false,
    rest: text,
  };
  let rest = '';
  let kept = 0;
  let open = text.indexOf('[[');
  while (open !== -1) {
    const near = text.slice(open + 2, open + LENGTH_MAX);
    const length = near.indexOf(']]');
    let next = open + 1;
    if (length !== -1 && apply(found, near.slice(0, length))) {
      rest += text.slice(kept, open);
      kept = next = open + 2 + length + 2;
    }
    open = text.indexOf('[[', next);
  }
  if (kept > 0) found.rest = rest + text.slice(kept);
  if (found.status !== undefined && (found.status < 300 || found.status > 599)) found.status = undefined;
  return found;
}
