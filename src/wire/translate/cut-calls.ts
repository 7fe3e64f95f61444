/**
 * Tells calls of tools that were cut off from those that are complete, whatever the target's format says of it: a call
 * that broke off must not be run with the arguments that were written by then. The end of a call without arguments, or
 * with free text, is kept back until what follows tells which it is. One per attempt.
 */
import { parseJson } from '../../lib/json.ts';
import { JsonEndDetector } from './json-end.ts';
import type { FinishReason, ToolKind, TurnEvent } from './turn.ts';

type ToolEnd = Extract<TurnEvent, { type: 'tool-end' }>;

interface Call {
  readonly kind: ToolKind;
  text: string;
}

/** Whether an answer that ends so may have been ended in the middle of something. */
export function endsMidway(reason: FinishReason): boolean {
  return reason === 'length' || reason === 'context' || reason === 'content-filter' || reason === 'refusal';
}

export class CutCalls {
  readonly #calls = new Map<number, Call>();
  /** Ends that are kept back, in their order. */
  #ends: ToolEnd[] = [];
  /** The only call that can have been cut off without a trace. */
  #last = -1;
  #finished = false;

  take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'tool-start': {
        const before = this.#release(false);
        this.#calls.set(event.key, { kind: event.tool.kind, text: '' });
        this.#last = event.key;
        return [...before, event];
      }
      case 'tool-delta': {
        const call = this.#calls.get(event.key);
        if (call) call.text += event.text;
        return [event];
      }
      case 'tool-end':
        return this.#end(event);
      case 'finish':
        this.#finished = true;
        return [...this.#release(endsMidway(event.reason)), event];
      case 'text-start':
      case 'reasoning-start':
      case 'opaque':
      case 'end':
        return [...this.#release(false), event];
    }
    return [event];
  }

  #end(event: ToolEnd): readonly TurnEvent[] {
    const call = this.#calls.get(event.key);
    if (!call || event.incomplete === true) return [event];
    if (call.kind !== 'custom' && call.text.trim() !== '') {
      return [isCutJson(call.text) ? { ...event, incomplete: true } : event];
    }
    if (this.#finished) return this.#complete(event);
    this.#ends.push(event);
    return [];
  }

  #release(midway: boolean): readonly TurnEvent[] {
    if (this.#ends.length === 0) return [];
    const ends = this.#ends;
    this.#ends = [];
    return ends.flatMap((end) =>
      midway && end.key === this.#last ? [{ ...end, incomplete: true }] : this.#complete(end),
    );
  }

  /** A function that takes no arguments was called with none. */
  #complete(end: ToolEnd): readonly TurnEvent[] {
    const call = this.#calls.get(end.key);
    if (!call || call.kind === 'custom' || call.text !== '') return [end];
    return [{ type: 'tool-delta', key: end.key, text: '{}' }, end];
  }
}

/** A call that has its end is not cut off, even where it is no JSON. */
function isCutJson(text: string): boolean {
  const detector = new JsonEndDetector();
  detector.feed(text);
  return !detector.complete && parseJson(text) === undefined;
}
