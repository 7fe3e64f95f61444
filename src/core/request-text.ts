/**
 * Messages about a request, without what they quote of it. Providers, and the gateway where it names a value that is not
 * valid, quote what the client sent; what is kept of a request must not.
 */
import type { Condition } from './conditions.ts';

const MESSAGE_CHARACTERS_MAX = 300;
/** Beyond it a message is not compared with the request, and not kept. */
const COMPARED_BYTES_MAX = 8 * 1_024 * 1_024;
/** So many characters in a row that the request has as well are a quotation. Inside quotation marks, one is enough. */
const RUN = 12;
const QUOTED = '[…]';
const NOT_COMPARED = 'The message is not kept: the request is too large to be compared with it.';

/** The conditions whose message can repeat what a client has sent; the others have sentences of the gateway. */
const QUOTING: ReadonlySet<Condition> = new Set<Condition>([
  'invalid_request',
  'context_length_exceeded',
  'model_not_found',
  'key_disabled',
  'not_found',
  'upstream_error',
  'provider_unavailable',
]);

/** `body`: the request as it was received; null where none was read. */
export function withoutRequestText(condition: Condition, message: string, body: Buffer | null): string {
  if (body === null || !QUOTING.has(condition)) return cut(message);
  if (body.length > COMPARED_BYTES_MAX) return NOT_COMPARED;
  const { text, fields } = contentOf(body);
  return cut(withoutRuns(withoutQuotations(message, text, fields), text));
}

function cut(message: string): string {
  const safe = withoutKeys(message);
  return safe.length <= MESSAGE_CHARACTERS_MAX ? safe : `${safe.slice(0, MESSAGE_CHARACTERS_MAX - 1)}…`;
}

const KEY_LIKE = /(?:mg_[ct]_|sk-)[\w-]{8,}/g;

/** An API key that was put into the wrong place, such as the name of the model. */
export function withoutKeys(text: string): string {
  return text.includes('mg_') || text.includes('sk-') ? text.replace(KEY_LIKE, '[redacted]') : text;
}

interface Content {
  /** Everything that can be a part of the conversation, one after the other. */
  readonly text: string;
  /** The names of the request's own fields: they may be named. */
  readonly fields: ReadonlySet<string>;
}

/** Settings, such as the name of the model, are not content; a body that is not JSON is nothing but content. */
const CONTENT_FIELDS: ReadonlySet<string> = new Set(['input', 'instructions', 'prompt', 'system', 'suffix', 'user']);
const NOT_CONTENT: ReadonlySet<string> = new Set(['role', 'type']);

function contentOf(body: Buffer): Content {
  const received = body.toString('utf8');
  const fields = new Set<string>();
  let request: unknown;
  try {
    request = JSON.parse(received);
  } catch {
    return { text: received, fields };
  }
  if (typeof request !== 'object' || request === null) return { text: received, fields };
  const texts: string[] = [];
  const rest: unknown[] = [];
  for (const [name, value] of Object.entries(request)) {
    fields.add(name);
    if (typeof value !== 'string' || CONTENT_FIELDS.has(name)) rest.push(value);
  }
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string') texts.push(value);
    else if (Array.isArray(value)) for (const item of value) rest.push(item);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        if (NOT_CONTENT.has(name)) continue;
        texts.push(name);
        rest.push(member);
      }
    }
  }
  return { text: texts.join('\u0000'), fields };
}

const QUOTATION = /(["'`\u201c\u2018])([^"'`\u201c\u201d\u2018\u2019]{4,})(["'`\u201d\u2019])/g;

function withoutQuotations(message: string, text: string, fields: ReadonlySet<string>): string {
  return message.replace(QUOTATION, (quotation: string, opening: string, quoted: string, closing: string) =>
    !fields.has(quoted) && text.includes(quoted) ? `${opening}${QUOTED}${closing}` : quotation,
  );
}

/** One pass over the text with a rolling hash, so that a long prompt does not hold other requests up for long. */
function withoutRuns(message: string, text: string): string {
  if (message.length < RUN || text.length < RUN) return message;
  const starts = new Map<number, number[]>();
  const seen = new Uint8Array(SEEN_MASK + 1);
  eachRun(message, (hash, at) => {
    seen[hash & SEEN_MASK] = 1;
    const known = starts.get(hash);
    if (known) known.push(at);
    else starts.set(hash, [at]);
  });
  const quoted = new Uint8Array(message.length);
  eachRun(text, (hash, at) => {
    if (seen[hash & SEEN_MASK] === 0) return;
    for (const start of starts.get(hash) ?? []) {
      if (message.startsWith(text.slice(at, at + RUN), start)) quoted.fill(1, start, start + RUN);
    }
  });
  let out = '';
  for (let at = 0; at < message.length; at++) {
    if (quoted[at] !== 1) out += message[at];
    else if (quoted[at - 1] !== 1) out += QUOTED;
  }
  return out;
}

const SEEN_MASK = 0xffff;
const BASE = 0x01000193;
const LEAVING = powerOfBase(RUN - 1);

function powerOfBase(exponent: number): number {
  let power = 1;
  for (let n = 0; n < exponent; n++) power = Math.imul(power, BASE);
  return power;
}

function eachRun(text: string, visit: (hash: number, at: number) => void): void {
  let hash = 0;
  for (let end = 0; end < text.length; end++) {
    if (end >= RUN) hash = (hash - Math.imul(text.charCodeAt(end - RUN), LEAVING)) | 0;
    hash = (Math.imul(hash, BASE) + text.charCodeAt(end)) | 0;
    if (end >= RUN - 1) visit(hash, end - RUN + 1);
  }
}
