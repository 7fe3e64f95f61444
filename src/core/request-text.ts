/**
 * Messages about a request, without what they quote of it. Providers, and the gateway where it names a value that is not
 * valid, quote what the client sent; what is kept of a request must not.
 */
import type { Condition } from './conditions.ts';
import { QUOTED, type QuotableTexts, withoutQuotations } from './quotation.ts';

const MESSAGE_CHARACTERS_MAX = 300;
/** So much of a message is looked at: what it quotes takes less room afterwards. */
const COMPARED_CHARACTERS_MAX = 2_000;
/** Beyond it a message is not compared with the request, and not kept. */
const COMPARED_BYTES_MAX = 8 * 1_024 * 1_024;
const REQUEST_TOO_LARGE = 'The message is not kept: the request is too large to be compared with it.';
const ANSWER_TOO_LONG = 'The message is not kept: the answer before it is too long to be compared with it.';

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

/** A message of the gateway. `body`: the request as it was received; null where none was read. */
export function withoutRequestText(condition: Condition, message: string, body: Buffer | null): string {
  if (body === null || !QUOTING.has(condition)) return cut(message);
  return withoutContent(message, body, '');
}

/** What a provider has been told, and what it has told the client so far. */
export interface Conversation {
  /** The request as it was sent to the provider. */
  readonly sent: Buffer;
  /** Null where it is too long. */
  readonly answer: string | null;
}

/** A message with words of a provider; null: it has none. */
export function withoutConversation(message: string, conversation: Conversation | null): string {
  if (conversation === null) return cut(message);
  const { sent, answer } = conversation;
  if (answer === null) return ANSWER_TOO_LONG;
  return withoutContent(message, sent, answer);
}

function withoutContent(message: string, body: Buffer, answer: string): string {
  if (body.length > COMPARED_BYTES_MAX) return REQUEST_TOO_LARGE;
  return cut(withoutQuotations(message.slice(0, COMPARED_CHARACTERS_MAX), textsOf(body, answer)));
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

const NAME = /^[\w./:@+-]{1,100}$/;

/** A name that the client has given, such as the type of a tool; a name is not a sentence. */
export function shownName(text: string): string {
  return NAME.test(text) ? text : QUOTED;
}

/** Fields at the top that are said, even where they look like a name: the others are settings, such as the model. */
const SAID: ReadonlySet<string> = new Set(['input', 'instructions', 'prompt', 'system', 'suffix', 'user']);
/** Fields below it that have one of a few values. */
const SETTINGS: ReadonlySet<string> = new Set([
  'role',
  'type',
  'media_type',
  'detail',
  'effort',
  'format',
  'mode',
  'status',
]);
/** Below these the names are the client's own. */
const NAMED_BY_CLIENT: ReadonlySet<string> = new Set([
  'arguments',
  'input',
  'input_schema',
  'metadata',
  'parameters',
  'schema',
]);
/** Words of JSON schemas, about which providers say most. */
const SCHEMA_WORDS: readonly string[] = [
  'additionalProperties',
  'allOf',
  'anyOf',
  'const',
  'default',
  'description',
  'enum',
  'format',
  'items',
  'maximum',
  'minimum',
  'oneOf',
  'pattern',
  'properties',
  'required',
  'title',
  'type',
];

/** A body that is not JSON is nothing but text. */
function textsOf(body: Buffer, answer: string): QuotableTexts {
  const received = body.toString('utf8');
  const said: string[] = [answer];
  const names: string[] = [];
  const fields = new Set(SCHEMA_WORDS);
  const request = parsed(received);
  if (typeof request !== 'object' || request === null) return { said: [answer, received], names, fields };
  /** `named`: the names within the value are the client's own. */
  const rest: { readonly value: unknown; readonly named: boolean }[] = [];
  const take = (value: unknown, isSetting: boolean, named: boolean): void => {
    if (typeof value !== 'string' || !isSetting || !NAME.test(value)) rest.push({ value, named });
  };
  for (const [name, value] of Object.entries(request)) {
    if (NAME.test(name)) fields.add(name);
    else names.push(name);
    take(value, !SAID.has(name), name === 'metadata');
  }
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value, named } = next;
    if (typeof value === 'string') said.push(value);
    else if (Array.isArray(value)) for (const item of value) rest.push({ value: item, named });
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        if (!named && NAME.test(name)) fields.add(name);
        else names.push(name);
        take(member, SETTINGS.has(name), named || NAMED_BY_CLIENT.has(name));
      }
    }
  }
  return { said: said.filter((text) => !fields.has(text)), names, fields };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
