/**
 * JSON mode for a target whose format has none: the model is asked for a JSON object, what it writes around the object is
 * left out, and an answer without one fails. An answer that was cut off or calls a tool is not held to it. It fails with its
 * last event, when its usage is known.
 */
import { isObject, parseJson } from '../../lib/json.ts';
import { UnfitAnswer } from '../errors.ts';
import { JsonEndDetector } from './json-end.ts';
import type { TurnEvent } from './turn.ts';

export const JSON_OBJECT_INSTRUCTION =
  'Answer with a single valid JSON object and nothing else: no text before or after it, and no code fence.';

const UNFIT =
  'The model was asked for a JSON object and answered with something else. What it wrote is billed, as the provider bills it.';

/** One per attempt. */
export class JsonObjectFilter {
  #text = '';
  #state: 'before' | 'inside' | 'after' = 'before';
  readonly #end = new JsonEndDetector();
  #excused = false;
  #unfit = false;

  take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'text-start':
        this.#excused ||= event.kind === 'refusal';
        return [event];
      case 'tool-start':
        this.#excused = true;
        return [event];
      case 'text-delta': {
        const text = this.#excused ? event.text : this.#objectIn(event.text);
        return text === '' ? [] : [{ ...event, text }];
      }
      case 'finish':
        this.#unfit = this.#isUnfit(event);
        return this.#unfit ? [] : [event];
      case 'end':
        if (this.#unfit) throw new UnfitAnswer(UNFIT);
    }
    return [event];
  }

  #objectIn(text: string): string {
    if (this.#state === 'after') return '';
    const start = this.#state === 'inside' ? 0 : text.indexOf('{');
    if (start === -1) return '';
    const rest = text.slice(start);
    const end = this.#end.feed(rest);
    this.#state = end === -1 ? 'inside' : 'after';
    const part = end === -1 ? rest : rest.slice(0, end);
    this.#text += part;
    return part;
  }

  #isUnfit({ reason }: Extract<TurnEvent, { type: 'finish' }>): boolean {
    if (this.#excused || (reason !== 'stop' && reason !== 'other')) return false;
    return !isObject(parseJson(this.#text));
  }
}
