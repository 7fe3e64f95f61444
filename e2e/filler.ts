/**
 * A recorded request without what is its author's or its user's: every text becomes filler of the same kind and length, with
 * the same spaces, line ends and punctuation; names, types and structure stay.
 */

const LETTERS = 'loremipsumdolorsitametconsecteturadipiscingelit';
/** Members whose texts are part of the format, or name something. */
const KEPT = new Set([
  'type',
  'role',
  'model',
  'name',
  'format',
  'pattern',
  '$ref',
  '$schema',
  'enum',
  'const',
  'required',
  'media_type',
  'effort',
  'summary',
  'display',
  'detail',
  'include',
  'betas',
  'tool_choice',
  'truncation',
  'service_tier',
  'encoding_format',
  'ttl',
  'verbosity',
  'syntax',
  'status',
  'execution',
]);
/** What identifies a call or an item is replaced too, the same by the same. */
const ID = /^(call|toolu|msg|rs|resp|fc|ctc|chatcmpl|ses|prt|item|cmpl)[-_]/;

export class Filler {
  readonly #ids = new Map<string, string>();

  value(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return KEPT.has(name) ? value : this.#text(value);
    if (Array.isArray(value)) return value.map((inner) => this.value(inner, name));
    if (typeof value !== 'object' || value === null) return value;
    // A property of a schema may have the name of a kept member: what it is called decides nothing of what is in it.
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.value(inner, key)]));
  }

  headers(headers: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, this.#header(name.toLowerCase(), value)]),
    );
  }

  #header(name: string, value: string): string {
    if (name === 'authorization') return 'Bearer mg_c_recorded';
    if (name === 'x-api-key') return 'mg_c_recorded';
    if (name === 'host') return '127.0.0.1:8080';
    if (/session|request-id|affinity|thread|turn|window|installation|conversation|traceparent|idempotency/.test(name)) {
      return this.#text(value);
    }
    return value;
  }

  #text(text: string): string {
    if (ID.test(text)) return this.#id(text);
    if (/^\s*[{[]/.test(text)) {
      try {
        return JSON.stringify(this.value(JSON.parse(text)));
      } catch {
        // It only begins like JSON.
      }
    }
    return filler(text);
  }

  #id(id: string): string {
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    const prefix = ID.exec(id)?.[0] ?? '';
    const made = `${prefix}${String(this.#ids.size + 1).padStart(Math.max(1, id.length - prefix.length), '0')}`;
    this.#ids.set(id, made);
    return made;
  }
}

function filler(text: string): string {
  let at = 0;
  return text.replaceAll(/\p{L}|\p{N}|\p{Extended_Pictographic}/gu, (character) => {
    if (/\p{N}/u.test(character)) return '0';
    if (character.length > 1 || /\p{Extended_Pictographic}/u.test(character)) return character.length > 1 ? '🙂' : '☺';
    if (character > '\u007f') return 'é';
    const letter = LETTERS[at++ % LETTERS.length] ?? 'l';
    return character === character.toUpperCase() ? letter.toUpperCase() : letter;
  });
}

/** The structure of a value: every path in it with its type, list members alike. */
export function shapeOf(value: unknown, path = ''): Set<string> {
  if (Array.isArray(value))
    return new Set([`${path}[]`, ...value.flatMap((inner) => [...shapeOf(inner, `${path}[]`)])]);
  if (typeof value !== 'object' || value === null) {
    const named = /(^|\.)(type|role)$/.test(path) ? `=${String(value)}` : `:${value === null ? 'null' : typeof value}`;
    return new Set([path + named]);
  }
  return new Set(Object.entries(value).flatMap(([name, inner]) => [...shapeOf(inner, `${path}.${name}`)]));
}
