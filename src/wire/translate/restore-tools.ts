/** Between reader and writer: the target's tools become the client's own again. */
import { isObject, parseJson, stringAt } from '../../lib/json.ts';
import type { ToolNames } from './tool-names.ts';
import type { TurnEvent } from './turn.ts';

/** One per attempt. */
export class ToolNameRestorer {
  readonly #names: ToolNames;
  /** Calls of custom tools that the target knows as functions. */
  readonly #unwrapping = new Map<number, InputUnwrapper>();

  constructor(names: ToolNames) {
    this.#names = names;
  }

  restore(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'tool-start': {
        if (event.tool.kind !== 'function' || event.tool.namespace !== undefined) return [event];
        const tool = this.#names.back(event.tool.name);
        if (tool.kind === 'custom') this.#unwrapping.set(event.key, new InputUnwrapper());
        return [{ ...event, tool }];
      }
      case 'tool-delta': {
        const text = this.#unwrapping.get(event.key)?.feed(event.text);
        if (text === undefined) return [event];
        return text === '' ? [] : [{ ...event, text }];
      }
      case 'tool-end': {
        // A call that was cut off before its text began has no text.
        const rest = event.incomplete === true ? '' : (this.#unwrapping.get(event.key)?.finish() ?? '');
        return rest === '' ? [event] : [{ type: 'tool-delta', key: event.key, text: rest }, event];
      }
    }
    return [event];
  }
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
/** An opening has few spaces, if any: what begins in another way is not looked through again with each piece. */
const OPENING_CHARACTERS_MAX = 256;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const UNICODE_ESCAPE_LENGTH = 6;

/** Takes the text out of `{"input":"…"}` as it comes in pieces. */
export class InputUnwrapper {
  /** All of it before the text has begun; then what has not been read yet. */
  #raw = '';
  #beginning = '';
  #at = 0;
  #state: 'before' | 'inside' | 'behind' = 'before';

  feed(piece: string): string {
    if (this.#state === 'behind') return '';
    this.#raw += piece;
    if (this.#state === 'before') {
      if (this.#beginning.length > OPENING_CHARACTERS_MAX) return '';
      this.#beginning += piece;
      const opening = OPENING.exec(this.#beginning);
      if (!opening) return '';
      this.#at = opening[0].length;
      this.#state = 'inside';
    }
    const text = this.#inside();
    this.#raw = this.#raw.slice(this.#at);
    this.#at = 0;
    return text;
  }

  /** Arguments of another shape than asked for are passed on as they are. */
  finish(): string {
    if (this.#state !== 'before') return '';
    const value = parseJson(this.#raw);
    return (isObject(value) ? stringAt(value, 'input') : undefined) ?? this.#raw;
  }

  #inside(): string {
    let out = '';
    while (this.#at < this.#raw.length) {
      const character = this.#raw.charAt(this.#at);
      if (character === '"') {
        this.#state = 'behind';
        return out;
      }
      if (character !== '\\') {
        out += character;
        this.#at++;
        continue;
      }
      const kind = this.#raw.charAt(this.#at + 1);
      const length = kind === 'u' ? UNICODE_ESCAPE_LENGTH : 2;
      if (kind === '' || this.#at + length > this.#raw.length) return out;
      const code = this.#raw.slice(this.#at + 2, this.#at + length);
      out += kind === 'u' ? String.fromCharCode(Number.parseInt(code, 16)) : (ESCAPES[kind] ?? kind);
      this.#at += length;
    }
    return out;
  }
}
