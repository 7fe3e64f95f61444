/** Tokens of generated text that nobody reported: counted by a tokenizer, off the loop. */
import type { Target } from '../core/model.ts';
import type { OutputSample } from '../wire/output-sample.ts';
import type { ExactCount } from './exact-count.ts';
import type { ExactCounter } from './exact-counter.ts';
import { likelyTokens } from './heuristic.ts';
import { tokenizerOf } from './tokenizer.ts';

const BYTES_PER_TOKEN_LIKELY = 4;
/** A shorter text is not worth a tokenizer: its estimate is wrong by a few tokens at most. */
const COUNTED_UNITS_MIN = 64;
/** So much text of one stream is kept to be counted, should that be needed; more is counted at once. */
const KEPT_UNITS_MAX = 64 * 1_024;

/** The count by length alone: for what has to be known at once, while a stream goes on. */
export function likelyOutput(outputBytes: number): number {
  return Math.ceil(outputBytes / BYTES_PER_TOKEN_LIKELY);
}

/** The output of one stream: by a tokenizer as far as that has counted it, by its bytes beyond that. */
export class OutputCount {
  readonly #counter: Pick<ExactCounter, 'count'>;
  readonly #keyId: string;
  readonly #targets: readonly Target[];
  /** Taken over from the sample of the stream, and not counted yet. */
  #kept = '';
  #counting: Promise<void> | null = null;
  #bytes = 0;
  #likely = 0;
  #high = 0;

  constructor(counter: Pick<ExactCounter, 'count'>, keyId: string, targets: readonly Target[]) {
    this.#counter = counter;
    this.#keyId = keyId;
    this.#targets = targets;
  }

  /** The most tokens that this much output can be: every one of them has a byte at least. */
  atMost(outputBytes: number): number {
    return this.#high + Math.max(0, outputBytes - this.#bytes);
  }

  /** How many bytes of output surely fit into so many tokens. */
  bytesWithin(tokens: number): number {
    return this.#bytes + Math.max(0, tokens - this.#high);
  }

  /** The most likely tokens of this much output. */
  likely(outputBytes: number): number {
    const rest = Math.max(0, outputBytes - this.#bytes);
    if (this.#bytes === 0) return likelyOutput(rest);
    return this.#likely + Math.ceil((rest * this.#likely) / this.#bytes);
  }

  /** The same by what its text looks like, which tells scripts apart. */
  likelyBy(sample: OutputSample, outputBytes: number): number {
    const text = sample.rough();
    const bytes = Buffer.byteLength(text);
    return bytes === 0 ? this.likely(outputBytes) : Math.ceil((likelyTokens([text]) * outputBytes) / bytes);
  }

  /** Takes over what a wide sample has collected. */
  collect(sample: OutputSample): void {
    if (!sample.ripe) return;
    this.#kept += sample.take();
    if (this.#kept.length > KEPT_UNITS_MAX) this.#countLater(this.#takeKept());
  }

  /** Counts all text that has come so far; where no count can be had in time, it is estimated, and bounded by its bytes. */
  count(sample: OutputSample): Promise<void> {
    return this.#countLater(this.#takeKept() + sample.take());
  }

  /** Resolves when all that was to be counted has been. */
  #countLater(text: string): Promise<void> {
    const counted = Promise.all([this.#counting, this.#count(text)]).then(() => {});
    this.#counting = counted;
    return counted;
  }

  #takeKept(): string {
    const kept = this.#kept;
    this.#kept = '';
    return kept;
  }

  async #count(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text);
    if (bytes === 0) return;
    const counted = text.length < COUNTED_UNITS_MIN ? null : await this.#countedExactly(text);
    const inTime = counted === null || counted.late ? null : counted;
    this.#bytes += bytes;
    this.#likely += inTime?.likely ?? likelyTokens([text]);
    this.#high += Math.min(bytes, inTime?.high ?? bytes);
  }

  #countedExactly(text: string): Promise<ExactCount> {
    const texts = { certain: [text], definitions: [], others: [] };
    const job = { texts, tokenizer: tokenizerOf(this.#targets), unitsMax: Number.POSITIVE_INFINITY };
    return this.#counter.count(job, this.#keyId);
  }
}
