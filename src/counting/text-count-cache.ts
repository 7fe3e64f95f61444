/**
 * Remembers what texts came to. A conversation grows by a message or two with each request, and every text of a prompt is
 * counted by itself, so of a growing prompt only what is new has to be encoded.
 */
import { hash } from 'node:crypto';
import type { TextCount, TextCounter } from './exact-count.ts';

/** A shorter text is encoded faster than it is looked up. */
const TEXT_UNITS_MIN = 64;
const TEXTS_MAX = 50_000;

export class TextCountCache {
  /** The counts by digest, the least recently used first; a text itself is never kept. */
  readonly #counts = new Map<string, TextCount>();

  /** `name` keeps counts of different tokenizers apart. */
  counter(name: string, count: TextCounter): TextCounter {
    return (text) => {
      if (text.length < TEXT_UNITS_MIN) return count(text);
      const digest = name + hash('sha256', text, 'base64');
      const known = this.#counts.get(digest);
      const counted = known ?? count(text);
      if (known !== undefined) this.#counts.delete(digest);
      else if (this.#counts.size >= TEXTS_MAX) this.#forgetOldest();
      this.#counts.set(digest, counted);
      return counted;
    };
  }

  #forgetOldest(): void {
    const oldest = this.#counts.keys().next();
    if (!oldest.done) this.#counts.delete(oldest.value);
  }
}
