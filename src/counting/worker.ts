/** The counting worker: loads a tokenizer when one is first needed, and counts one slice of a prompt at a time. */
import { parentPort } from 'node:worker_threads';
import { countTexts, type Encoder, type ExactCount, type Texts, textCounter } from './exact-count.ts';
import { TextCountCache } from './text-count-cache.ts';
import { type Encoding, encodingsFor, type Tokenizer } from './tokenizer.ts';

export interface CountJob {
  readonly texts: Texts;
  readonly tokenizer: Tokenizer;
  /** How much of the texts has to be counted, in UTF-16 units. */
  readonly unitsMax: number;
}

/** The part of a count that the worker is sent at a time. */
export type WorkerJob = Pick<CountJob, 'texts' | 'tokenizer'>;

/** A special token in a user's text is text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };
const loaded = new Map<Encoding, Encoder>();
const cache = new TextCountCache();

async function encoder(encoding: Encoding): Promise<Encoder> {
  const known = loaded.get(encoding);
  if (known) return known;
  const { countTokens } =
    encoding === 'o200k_base'
      ? await import('gpt-tokenizer/encoding/o200k_base')
      : await import('gpt-tokenizer/encoding/cl100k_base');
  const fresh: Encoder = (text) => countTokens(text, AS_TEXT);
  loaded.set(encoding, fresh);
  return fresh;
}

async function count({ texts, tokenizer }: WorkerJob): Promise<ExactCount> {
  const encoders = await Promise.all(encodingsFor(tokenizer).map(encoder));
  return countTexts(texts, tokenizer, cache.counter(tokenizer, textCounter(encoders)));
}

const parent = parentPort;
if (parent !== null) {
  parent.on('message', (job: WorkerJob) => {
    // A failure ends the worker, and its error reaches whoever waits.
    void count(job).then((counted) => parent.postMessage(counted));
  });
}
