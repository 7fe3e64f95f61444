/**
 * Characters beyond U+FFFF are two units of a string, and a provider may send the one in one event and the other in the
 * next. Each half alone is not text: clients in Rust refuse the event, clients in Python cannot print it. The first half is
 * kept back until the second has come. One per attempt.
 */
import type { TurnEvent } from './turn.ts';

type Delta = Extract<TurnEvent, { type: 'text-delta' | 'reasoning-delta' | 'tool-delta' }>;

const HIGH_FIRST = 0xd800;
const HIGH_LAST = 0xdbff;

function isDelta(event: TurnEvent): event is Delta {
  return event.type === 'text-delta' || event.type === 'reasoning-delta' || event.type === 'tool-delta';
}

function endsInside(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= HIGH_FIRST && last <= HIGH_LAST;
}

export class WholeCharacters {
  /** Ends with half a character that its next delta completes; nearly always null. */
  #held: Delta | null = null;

  take(event: TurnEvent): readonly TurnEvent[] {
    if (!this.#held && !(isDelta(event) && endsInside(event.text))) return [event];
    if (isDelta(event)) return this.#delta(event);
    // An event of another block, or of none, may overtake the half.
    const isLast = event.type === 'finish' || event.type === 'end' || ('key' in event && event.key === this.#held?.key);
    return isLast ? [...this.#release(), event] : [event];
  }

  #delta(event: Delta): readonly TurnEvent[] {
    const follows = this.#held?.key === event.key;
    if (!follows && !endsInside(event.text)) return [event];
    const before = follows ? [] : this.#release();
    const whole = follows && this.#held ? joined(this.#held, event) : event;
    this.#held = null;
    if (!endsInside(whole.text)) return [...before, whole];
    const text = whole.text.slice(0, -1);
    this.#held = text === '' ? whole : { ...whole, text: whole.text.slice(-1), ...NO_LOGPROBS };
    return text === '' ? before : [...before, { ...whole, text }];
  }

  /** A half that nothing completes stays what it was. */
  #release(): readonly TurnEvent[] {
    const held = this.#held;
    this.#held = null;
    return held ? [held] : [];
  }
}

const NO_LOGPROBS = { logprobs: undefined };

function joined(held: Delta, next: Delta): Delta {
  const text = held.text + next.text;
  if (held.type !== 'text-delta' || next.type !== 'text-delta' || !held.logprobs) return { ...next, text };
  return { ...next, text, logprobs: [...held.logprobs, ...(next.logprobs ?? [])] };
}
