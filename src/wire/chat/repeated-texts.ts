/**
 * The members of a choice in which servers repeat what its deltas say: `text`, the delta once more, and `message`, all that was
 * said so far or in the end. What they say beyond the deltas counts. One per attempt.
 */
import { hash } from 'node:crypto';
import { isObject, type JsonObject, numberAt, objectAt } from '../../lib/json.ts';
import { chatTexts, generatedTexts } from '../generated-text.ts';
import type { OutputCounter } from '../passthrough/observer.ts';

/** The most choices whose messages are remembered; those of others are all new. */
const CHOICES_MAX = 128;

interface Message {
  readonly length: number;
  readonly bytes: number;
  readonly digest: string;
}

export class RepeatedTexts {
  /** The stream has messages where deltas should be: each says what is new. */
  onlyMessages = false;
  readonly #output: OutputCounter;
  readonly #messages = new Map<number, Message>();
  /** Of all messages; of one that has grown, once. */
  #messageBytes = 0;

  constructor(output: OutputCounter) {
    this.#output = output;
  }

  /** The choices of a frame whose deltas have been counted. */
  count(choices: readonly JsonObject[]): void {
    const nothingYet = this.#output.bytes === 0 && choices.every(({ delta }) => delta === undefined);
    for (const [place, choice] of choices.entries()) {
      const told = chatTexts(objectAt(choice, 'delta') ?? {});
      const text = generatedTexts(choice.text).join('');
      if (!told.includes(text)) this.#output.add(text);
      if (this.onlyMessages && !nothingYet) continue;
      const message = messageText(choice);
      if (message === '' || message === told.join('')) continue;
      if (nothingYet) {
        this.onlyMessages = true;
        this.#output.add(message);
      } else {
        this.#countMessage(numberAt(choice, 'index') ?? place, message);
      }
    }
  }

  #countMessage(index: number, text: string): void {
    const last = this.#messages.get(index);
    const grown = last !== undefined && hash('sha256', text.slice(0, last.length)) === last.digest;
    const bytes = Buffer.byteLength(text);
    this.#messageBytes += grown ? bytes - last.bytes : bytes;
    if (last !== undefined || this.#messages.size < CHOICES_MAX) {
      this.#messages.set(index, { length: text.length, bytes, digest: hash('sha256', text) });
    }
    this.#output.raise(this.#messageBytes, [text]);
  }
}

function messageText({ message }: JsonObject): string {
  const texts = isObject(message) ? chatTexts(message) : generatedTexts(message);
  return texts.join('');
}
