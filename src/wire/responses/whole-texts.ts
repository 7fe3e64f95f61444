/**
 * The text that the events of a response repeat as a whole: parts, then items, then the response itself. Most of it has come
 * in deltas before; a server that leaves deltas out shows it here alone. Only what is more than was counted counts. One per
 * attempt.
 */
import { getOrInsert } from '../../lib/get-or-insert.ts';
import { type Json, type JsonObject, objectsAt } from '../../lib/json.ts';
import { bytesOf, generatedTexts, Labels } from '../generated-text.ts';
import type { OutputCounter } from '../passthrough/observer.ts';
import { textsBesideOutput } from './text-beside-output.ts';

interface ItemTexts {
  whole: number;
  /** The sum of the parts. */
  sum: number;
  readonly parts: Map<string, number>;
}

/** Stands for what a response says beside its items. */
const BESIDE = -1;

export class WholeTexts {
  readonly #output: OutputCounter;
  readonly #items = new Map<number, ItemTexts>();
  readonly #labels = new Labels();
  /** Of all items, each by the larger of its whole and its parts. */
  #total = 0;

  constructor(output: OutputCounter) {
    this.#output = output;
  }

  response(response: JsonObject): void {
    for (const [index, item] of objectsAt(response, 'output').entries()) this.item(index, item);
    this.#whole(BESIDE, textsBesideOutput(response, this.#labels));
  }

  item(index: number, item: JsonObject): void {
    this.#whole(index, generatedTexts(item));
  }

  /** `bytes` of text in `value`, which is only looked at where they are more than was counted. */
  part(index: number, name: string, bytes: number, value: () => Json | undefined): void {
    if (bytes === 0) return;
    this.#change(index, (item) => {
      const before = item.parts.get(name) ?? 0;
      if (bytes <= before) return;
      item.parts.set(name, bytes);
      item.sum += bytes - before;
    });
    if (this.#total > this.#output.bytes) this.#output.raise(this.#total, generatedTexts(value()));
  }

  #whole(index: number, texts: readonly string[]): void {
    const bytes = bytesOf(texts);
    if (bytes === 0) return;
    this.#change(index, (item) => {
      item.whole = Math.max(item.whole, bytes);
    });
    this.#output.raise(this.#total, texts);
  }

  #change(index: number, change: (item: ItemTexts) => void): void {
    const item = getOrInsert(this.#items, index, () => ({ whole: 0, sum: 0, parts: new Map<string, number>() }));
    this.#total -= Math.max(item.whole, item.sum);
    change(item);
    this.#total += Math.max(item.whole, item.sum);
  }
}
