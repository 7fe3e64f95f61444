/** Tokens of generated text that nobody reported: counted by a tokenizer, off the loop, from the beginning of the text. */
import type { Target } from '../core/model.ts';
import type { OutputSample } from '../wire/output-sample.ts';
import type { ExactCounter } from './exact-counter.ts';
import { likelyTokens } from './heuristic.ts';
import { tokenizerOf } from './tokenizer.ts';

const BYTES_PER_TOKEN_LIKELY = 4;
/** A shorter text is not worth a tokenizer: its estimate is wrong by a few tokens at most. */
const COUNTED_UNITS_MIN = 64;

/** By its length alone: for what has to be known at once, while a stream goes on. */
export function likelyOutput(outputBytes: number): number {
  return Math.ceil(outputBytes / BYTES_PER_TOKEN_LIKELY);
}

/**
 * The count of the sample, in proportion to all that was generated. Where no count can be had in time, the sample is
 * estimated instead.
 */
export async function countOutput(
  counter: Pick<ExactCounter, 'count'>,
  keyId: string,
  sample: OutputSample,
  outputBytes: number,
  targets: readonly Target[],
): Promise<number> {
  const text = sample.text();
  const sampleBytes = Buffer.byteLength(text);
  if (sampleBytes === 0) return likelyOutput(outputBytes);
  const texts = { certain: [text], definitions: [], others: [] };
  const counted =
    text.length < COUNTED_UNITS_MIN
      ? null
      : await counter.count({ texts, tokenizer: tokenizerOf(targets), unitsMax: Number.POSITIVE_INFINITY }, keyId);
  const tokens = counted === null || counted.late ? likelyTokens([text]) : counted.likely;
  return Math.ceil((tokens * outputBytes) / sampleBytes);
}
