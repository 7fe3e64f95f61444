/** The message of a provider's error: whether it is about the length of the context, and the part that a client may read. */
import type { Json, JsonObject } from '../lib/json.ts';

/** How far a message is looked at. */
const EXAMINED_CHARACTERS_MAX = 8_192;
const MESSAGE_CHARACTERS_MAX = 2_000;
/** Fewer characters say little about a secret, and an ordinary text may end with them. */
const BEGINNING_CHARACTERS_MIN = 8;
const REDACTED = '[redacted]';

const CONTEXT_LENGTH =
  /context_length_exceeded|context (length|window|size)|prompt is too long|input is too long|too many (input )?tokens|token count.{0,40}exceeds/i;

/** `text` is a message, or a whole error body. */
export function isContextLengthError(text: string): boolean {
  return CONTEXT_LENGTH.test(text.slice(0, EXAMINED_CHARACTERS_MAX));
}

/** The figures in an error about the length of the context; null where it names none. */
interface StatedContext {
  /** How many tokens the request had, with its output where the provider counts both. */
  readonly tokens: number | null;
  readonly window: number | null;
}

const FIGURE = String.raw`(\d[\d,_]{2,})`;
const WINDOW = new RegExp(
  `(?:maximum|limit|window|context (?:length|size)|allowed|<=|>)[^\\d.]{0,30}?${FIGURE}|${FIGURE}(?: tokens)? (?:maximum|limit)`,
  'i',
);

/** Every provider words it differently; in all of them the window is named as a limit, and the larger figure is the request. */
export function statedContext(text: string): StatedContext {
  const said = text.slice(0, EXAMINED_CHARACTERS_MAX);
  const limit = WINDOW.exec(said);
  const window = limit === null ? null : asNumber(limit[1] ?? limit[2] ?? '');
  const figures = (said.match(new RegExp(FIGURE, 'g')) ?? []).map(asNumber);
  const larger = figures.filter((figure) => figure < FIGURE_MAX && figure > (window ?? Number.POSITIVE_INFINITY));
  return { window, tokens: larger.length > 0 ? Math.max(...larger) : null };
}

/** No window is as large: a longer number is an id or a date. */
const FIGURE_MAX = 1_000_000_000;

function asNumber(figure: string): number {
  return Number(figure.replaceAll(/[,_]/g, ''));
}

/** Ids that a client has sent or received itself: its error is of no use without them. */
const CLIENT_IDS = /^(?:call|toolu|fc|ctc|msg|rs|resp|chatcmpl)[-_]/;
/** The look of credentials and ids of accounts, which words and names of models do not have. */
const OPAQUE = [
  // The bounds keep a long word from being read again at each of its letters.
  /(?=[A-Za-z]{0,15}\d)(?=\d{0,15}[A-Za-z])[A-Za-z\d]{16}/,
  /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/i,
  /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{32}/,
];

/** The text without the gateway's own upstream credentials and without anything that looks like a credential. */
export function redact(text: string, secrets: readonly string[] = []): string {
  let out = text.slice(0, EXAMINED_CHARACTERS_MAX);
  for (const secret of secrets) if (secret !== '') out = withoutBeginning(out.replaceAll(secret, REDACTED), secret);
  return out
    .replace(/\b(?:sk|key)[-_][\w\-.*]{8,200}/g, (word) => (/[\d*]/.test(word) ? REDACTED : word))
    .replace(/\bBearer [\w\-.*+/=]{8,1000}/g, REDACTED)
    .replace(/[\w-]{16,}/g, (word) => (isOpaque(word) ? REDACTED : word))
    .slice(0, MESSAGE_CHARACTERS_MAX);
}

/** A text that was cut in the middle of a secret ends with the beginning of it. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= BEGINNING_CHARACTERS_MIN; length--) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED;
  }
  return text;
}

/** The names that providers give to the kinds of their errors: identifiers, never sentences. */
const LABEL = /^(?:[A-Za-z][\w.-]{0,63}|\d{1,6})$/;
const FIRST_NAME = /^[\s`'"]*([a-z_]{1,40})/;
/** Fields of requests that a provider may complain of. Only these are kept: below them the names are the client's. */
const FIELDS: ReadonlySet<string> = new Set(
  (
    'frequency_penalty include input instructions logit_bias logprobs max_completion_tokens max_output_tokens max_tokens ' +
    'messages metadata modalities model n output_config parallel_tool_calls presence_penalty prompt reasoning ' +
    'reasoning_effort response_format seed service_tier stop stop_sequences stream stream_options system temperature ' +
    'text thinking tool_choice tools top_k top_logprobs top_p truncation user verbosity'
  ).split(' '),
);

/**
 * How a provider labels its error, and the field that it names first, as the end of a sentence: what may be kept of an
 * error whose message may not, since that can quote the conversation in every way.
 */
export function labelsOf(error: JsonObject | undefined): string {
  if (error === undefined) return '';
  const labels = [error.type, error.code, error.status].map((value) => String(value ?? '')).filter(isLabel);
  const field = [error.param, error.message].map(fieldNamedFirst).find((name) => name !== null);
  const known = new Set(field === undefined ? labels : [...labels, field]);
  return known.size === 0 ? '' : `: ${[...known].join(', ')}`;
}

function isLabel(text: string): boolean {
  return text !== 'error' && LABEL.test(text);
}

function fieldNamedFirst(value: Json | undefined): string | null {
  const name = typeof value === 'string' ? (FIRST_NAME.exec(value)?.[1] ?? '') : '';
  return FIELDS.has(name) ? name : null;
}

function isOpaque(word: string): boolean {
  return !CLIENT_IDS.test(word) && OPAQUE.some((shape) => shape.test(word));
}
