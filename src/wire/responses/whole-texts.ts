/**
 * The text that the events of a response repeat as a whole: parts, then items, then the response itself. Most of it has come
 * in deltas before; a server that leaves deltas out shows it here alone. Only what is more than was counted counts. One per
 * attempt.
 */
import { getOrInsert } from '../../lib/get-or-insert.ts';
import { type Json, type JsonObject, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts } from '../generated-text.ts';
import type { OutputCounter } from '../passthrough/observer.ts';

interface ItemTexts {
  whole: number;
  readonly parts: Map<string, number>;
  /** The sum of `parts`. */
  inParts: number;
}

export class WholeTexts {
  readonly #output: OutputCounter;
  readonly #items = new Map<number, ItemTexts>();
  /** Of all items. Kept, because an answer can have a hundred thousand of them. */
  #total = 0;

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
    const before = bytesIn(texts);
    texts.whole = Math.max(texts.whole, bytes);
    this.#raise(bytesIn(texts) - before, () => item);
  }

  /** `bytes` of text in `value`, which is only looked at where they are more than was counted. */
  part(index: number, name: string, bytes: number, value: () => Json | undefined): void {
    if (bytes === 0) return;
    const texts = this.#at(index);
    const before = bytesIn(texts);
    const known = texts.parts.get(name) ?? 0;
    if (bytes > known) {
      texts.parts.set(name, bytes);
      texts.inParts += bytes - known;
    }
    this.#raise(bytesIn(texts) - before, value);
  }

  #raise(by: number, value: () => Json | undefined): void {
    this.#total += by;
    if (this.#total > this.#output.bytes) this.#output.raise(this.#total, generatedTexts(value()));
  }

  #at(index: number): ItemTexts {
    return getOrInsert(this.#items, index, () => ({ whole: 0, parts: new Map<string, number>(), inParts: 0 }));
  }
}

function bytesIn({ whole, inParts }: ItemTexts): number {
  return Math.max(whole, inParts);
}
