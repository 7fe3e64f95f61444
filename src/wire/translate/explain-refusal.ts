/** For clients whose format has no field for the explanation of a refusal: it becomes a refusal text of its own. */
import type { TurnEvent } from './turn.ts';

/** One per attempt. */
export class RefusalExplainer {
  #refused = false;
  #lastKey = -1;

  explain(event: TurnEvent): readonly TurnEvent[] {
    if ('key' in event) this.#lastKey = Math.max(this.#lastKey, event.key);
    if (event.type === 'text-start' && event.kind === 'refusal') this.#refused = true;
    if (event.type !== 'finish' || event.explanation === undefined || this.#refused) return [event];
    const key = this.#lastKey + 1;
    return [
      { type: 'text-start', key, kind: 'refusal' },
      { type: 'text-delta', key, text: event.explanation },
      { type: 'text-end', key },
      event,
    ];
  }
}
