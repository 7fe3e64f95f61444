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
  readonly #sequences: readonly StopSequence[];
  /** The end of the text so far, which may be the beginning of a sequence. */
  #held = '';
  #hit = false;

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences.filter((sequence) => sequence !== '').map((sequence) => new StopSequence(sequence));
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
    for (const sequence of this.#sequences) sequence.reset();
    return [{ type: 'text-delta', key: event.key, text }, event];
  }

  #text(event: Extract<TurnEvent, { type: 'text-delta' }>): readonly TurnEvent[] {
    const { key } = event;
    const first = this.#first(event.text);
    const text = this.#held + event.text;
    if (first) {
      const end = this.#held.length + first.end;
      const before = text.slice(0, end - first.sequence.length);
      this.#hit = true;
      this.#held = '';
      const raw = { format: 'messages', value: 'stop_sequence' } as const;
      return [
        ...(before === '' ? [] : [{ ...event, text: before }]),
        { type: 'text-end', key },
        { type: 'finish', reason: 'stop-sequence', raw, stopSequence: first.sequence },
      ];
    }
    const kept = this.#sequences.reduce((most, { matched }) => Math.max(most, matched), 0);
    // A text that is held whole is not copied with each of its pieces.
    this.#held = kept === text.length ? text : text.slice(text.length - kept);
    return kept === text.length ? [] : [{ ...event, text: text.slice(0, text.length - kept) }];
  }

  /** The sequence that ends first in the text so far and this piece; of several that end there, the longest. */
  #first(piece: string): { readonly end: number; readonly sequence: string } | null {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      let longest = '';
      for (const sequence of this.#sequences) {
        if (sequence.advance(code) && sequence.text.length > longest.length) longest = sequence.text;
      }
      if (longest !== '') return { end: at + 1, sequence: longest };
    }
    return null;
  }
}

/** How much of a sequence the end of a text is, kept up to date character by character (Knuth, Morris and Pratt). */
class StopSequence {
  readonly text: string;
  matched = 0;
  /** The longest shorter beginning that a beginning ends with, by its length. */
  readonly #shorter: Uint32Array;

  constructor(text: string) {
    this.text = text;
    this.#shorter = new Uint32Array(text.length + 1);
    for (let at = 1; at < text.length; at++) {
      this.advance(text.charCodeAt(at));
      this.#shorter[at + 1] = this.matched;
    }
    this.matched = 0;
  }

  reset(): void {
    this.matched = 0;
  }

  /** Whether the text now ends with the sequence. */
  advance(code: number): boolean {
    while (this.matched > 0 && this.text.charCodeAt(this.matched) !== code) {
      this.matched = this.#shorter[this.matched] ?? 0;
    }
    if (this.text.charCodeAt(this.matched) === code) this.matched++;
    return this.matched === this.text.length;
  }
}
