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
        // Of a call that was cut off before its text began, there is no text.
        const rest = event.incomplete === true ? '' : (this.#unwrapping.get(event.key)?.finish() ?? '');
        return rest === '' ? [event] : [{ type: 'tool-delta', key: event.key, text: rest }, event];
      }
    }
    return [event];
  }
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };
const UNICODE_ESCAPE_LENGTH = 6;

/** Takes the text out of `{"input":"…"}` as it comes in pieces. */
export class InputUnwrapper {
  #raw = '';
  #at = 0;
  #state: 'before' | 'inside' | 'behind' = 'before';

  feed(piece: string): string {
    this.#raw += piece;
    if (this.#state === 'before') {
      const opening = OPENING.exec(this.#raw);
      if (!opening) return '';
      this.#at = opening[0].length;
      this.#state = 'inside';
    }
    return this.#state === 'inside' ? this.#inside() : '';
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
