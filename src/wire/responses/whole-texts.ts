/**
 * The text that the events of a response repeat as a whole: parts, then items, then the response itself. Most of it has come
 * in deltas before; a server that leaves deltas out shows it here alone. Only what is more than was counted counts. One per
 * attempt.
 */
import { type Json, type JsonObject, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts } from '../generated-text.ts';
import type { OutputCounter } from '../passthrough/observer.ts';

interface ItemTexts {
  whole: number;
  readonly parts: Map<string, number>;
}

export class WholeTexts {
  readonly #output: OutputCounter;
  readonly #items = new Map<number, ItemTexts>();

  constructor(output: OutputCounter) {
    this.#output = output;
  }

  response(response: JsonObject): void {
    for (const [index, item] of objectsAt(response, 'output').entries()) this.item(index, item);
  }

  item(index: number, item: JsonObject): void {
    const bytes = bytesOf(generatedTexts(item));
    if (bytes === 0) return;
    const texts = this.#at(index);
    texts.whole = Math.max(texts.whole, bytes);
    this.#raise(() => item);
  }

  /** `bytes` of text in `value`, which is only looked at where they are more than was counted. */
  part(index: number, name: string, bytes: number, value: () => Json | undefined): void {
    if (bytes === 0) return;
    const { parts } = this.#at(index);
    parts.set(name, Math.max(parts.get(name) ?? 0, bytes));
    this.#raise(value);
  }

  #raise(value: () => Json | undefined): void {
    const total = this.#total();
    if (total > this.#output.bytes) this.#output.raise(total, generatedTexts(value()));
  }

  #at(index: number): ItemTexts {
    let texts = this.#items.get(index);
    if (texts === undefined) {
      texts = { whole: 0, parts: new Map() };
      this.#items.set(index, texts);
    }
    return texts;
  }

  #total(): number {
    let total = 0;
    for (const { whole, parts } of this.#items.values()) {
      let sum = 0;
      for (const bytes of parts.values()) sum += bytes;
      total += Math.max(whole, sum);
    }
    return total;
  }
}
