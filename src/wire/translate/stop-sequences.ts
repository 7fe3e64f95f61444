/**
 * Stop sequences that a target does not take are applied by the gateway: the text ends before the first
 * of them, and what follows it is not sent. One per attempt.
 */
import { getOrInsert } from '../../lib/get-or-insert.ts';
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
  readonly #search: StopSearch;
  /** The blocks that have no end yet. */
  readonly #open = new Set<number>();
  /** The end of the text so far, which may be the beginning of a sequence. */
  #held = '';
  #hit = false;

  constructor(sequences: readonly string[]) {
    this.#search = new StopSearch(sequences.filter((sequence) => sequence !== ''));
  }

  /** The answer has met a sequence and is over. */
  get hit(): boolean {
    return this.#hit;
  }

  take(event: TurnEvent): readonly TurnEvent[] {
    switch (event.type) {
      case 'usage':
      case 'end':
        return [event];
      case 'text-end':
      case 'reasoning-end':
      case 'tool-end': {
        // What was begun before the answer was over comes to its end.
        const wasOpen = this.#open.delete(event.key);
        return this.#hit && !wasOpen ? [] : this.#end(event);
      }
    }
    if (this.#hit) return [];
    if (event.type === 'text-delta') return this.#text(event);
    if (event.type === 'text-start' || event.type === 'reasoning-start' || event.type === 'tool-start') {
      this.#open.add(event.key);
    }
    return [event];
  }

  #end(event: Extract<TurnEvent, { type: 'text-end' | 'reasoning-end' | 'tool-end' }>): readonly TurnEvent[] {
    if (event.type !== 'text-end' || this.#held === '') return [event];
    const text = this.#held;
    this.#held = '';
    this.#search.restart();
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
      this.#open.delete(key);
      const raw = { format: 'messages', value: 'stop_sequence' } as const;
      return [
        ...(before === '' ? [] : [{ ...event, text: before }]),
        { type: 'text-end', key },
        { type: 'finish', reason: 'stop-sequence', raw, stopSequence: first.sequence },
      ];
    }
    const kept = this.#search.matched;
    // A text that is held whole is not copied with each of its pieces.
    this.#held = kept === text.length ? text : text.slice(text.length - kept);
    return kept === text.length ? [] : [{ ...event, text: text.slice(0, text.length - kept) }];
  }

  /** The sequence that ends first in the text so far and this piece; of several that end there, the longest. */
  #first(piece: string): { readonly end: number; readonly sequence: string } | null {
    for (let at = 0; at < piece.length; at++) {
      const sequence = this.#search.advance(piece.charCodeAt(at));
      if (sequence !== null) return { end: at + 1, sequence };
    }
    return null;
  }
}

const CODES = 65_536;

/**
 * All sequences at once, character by character (Aho and Corasick): a text takes as long with many of them as with one. Their
 * beginnings are numbered, the shorter ones first; 0 is the empty one.
 */
class StopSearch {
  /** What a beginning is with one character more, by both. */
  readonly #longer = new Map<number, number>();
  readonly #lengths = [0];
  /** The longest other beginning that one ends with. */
  readonly #shorter = [0];
  /** The longest sequence that a beginning ends with. */
  readonly #sequences: (string | null)[] = [null];
  /** The longest beginning that the text so far ends with. */
  #reached = 0;

  constructor(sequences: readonly string[]) {
    let growing = sequences.map((sequence) => ({ sequence, last: 0 }));
    for (let length = 1; growing.length > 0; length++) {
      for (const one of growing) {
        one.last = this.#grown(one.last, one.sequence.charCodeAt(length - 1), length);
        if (one.sequence.length === length) this.#sequences[one.last] = one.sequence;
      }
      growing = growing.filter(({ sequence }) => sequence.length > length);
    }
  }

  /** How much of a sequence the end of the text may be. */
  get matched(): number {
    return this.#lengths[this.#reached] ?? 0;
  }

  restart(): void {
    this.#reached = 0;
  }

  /** The longest sequence that the text now ends with. */
  advance(code: number): string | null {
    this.#reached = this.#step(this.#reached, code);
    return this.#sequences[this.#reached] ?? null;
  }

  #grown(from: number, code: number, length: number): number {
    return getOrInsert(this.#longer, from * CODES + code, () => {
      const shorter = from === 0 ? 0 : this.#step(this.#shorter[from] ?? 0, code);
      this.#shorter.push(shorter);
      this.#sequences.push(this.#sequences[shorter] ?? null);
      return this.#lengths.push(length) - 1;
    });
  }

  #step(from: number, code: number): number {
    let at = from;
    for (;;) {
      const next = this.#longer.get(at * CODES + code);
      if (next !== undefined) return next;
      if (at === 0) return 0;
      at = this.#shorter[at] ?? 0;
    }
  }
}
