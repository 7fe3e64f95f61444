/**
 * Stop sequences that a target does not take are applied by the gateway: the text ends before the first
 * of them, and what follows it is not sent. One per attempt.
 */
import type { TurnEvent } from './turn.ts';

/** The most that OpenAI's API takes. */
const CHAT_MAX = 4;

export function takenByChat(stop: readonly string[]): readonly string[] {
  return stop.slice(0, CHAT_MAX);
}

/** A sequence of nothing but white space is a 400 there. */
export function takenByMessages(stop: readonly string[]): readonly string[] {
  return stop.filter((sequence) => sequence.trim() !== '');
}

export class StopFilter {
  readonly #sequences: readonly string[];
  /** The end of the text so far, which may be the beginning of a sequence. */
  #held = '';
  #hit = false;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((sequence) => sequence !== '');
  }

  /** The answer has met a sequence and is over. */
  get hit(): boolean {
    return this.#hit;
  }

  take(event: TurnEvent): readonly TurnEvent[] {
    if (this.#hit) return event.type === 'usage' || event.type === 'end' ? [event] : [];
    if (event.type === 'text-delta') return this.#text(event);
    if (event.type !== 'text-end' || this.#held === '') return [event];
    const text = this.#held;
    this.#held = '';
    return [{ type: 'text-delta', key: event.key, text }, event];
  }

  #text(event: Extract<TurnEvent, { type: 'text-delta' }>): readonly TurnEvent[] {
    const text = this.#held + event.text;
    const { key } = event;
    const first = this.#first(text);
    if (first) {
      this.#hit = true;
      this.#held = '';
      const value = 'stop_sequence';
      const before: TurnEvent[] = first.at > 0 ? [{ ...event, text: text.slice(0, first.at) }] : [];
      const raw = { format: 'messages', value } as const;
      return [
        ...before,
        { type: 'text-end', key },
        { type: 'finish', reason: 'stop-sequence', raw, stopSequence: first.sequence },
      ];
    }
    const kept = this.#beginning(text);
    this.#held = text.slice(text.length - kept);
    return kept === text.length ? [] : [{ ...event, text: text.slice(0, text.length - kept) }];
  }

  #first(text: string): { readonly at: number; readonly sequence: string } | null {
    let first: { at: number; sequence: string } | null = null;
    for (const sequence of this.#sequences) {
      const at = text.indexOf(sequence);
      if (at !== -1 && (!first || at < first.at)) first = { at, sequence };
    }
    return first;
  }

  /** How many characters at the end of the text could be the beginning of a sequence. */
  #beginning(text: string): number {
    let most = 0;
    for (const sequence of this.#sequences) {
      for (let length = Math.min(sequence.length - 1, text.length); length > most; length--) {
        if (text.endsWith(sequence.slice(0, length))) most = length;
      }
    }
    return most;
  }
}
