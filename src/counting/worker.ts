/** The counting worker: loads a tokenizer when one is first needed, and counts one prompt at a time. */
import { parentPort } from 'node:worker_threads';
import { countTexts, type Encoder, type ExactCount, type Texts } from './exact-count.ts';
import { type Encoding, encodingsFor, type Tokenizer } from './tokenizer.ts';

export interface CountJob {
  readonly texts: Texts;
  readonly tokenizer: Tokenizer;
}

/** What looks like a special token in a user's text is text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() };
const loaded = new Map<Encoding, Encoder>();

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

async function count({ texts, tokenizer }: CountJob): Promise<ExactCount> {
  return countTexts(texts, tokenizer, await Promise.all(encodingsFor(tokenizer).map(encoder)));
}

const parent = parentPort;
if (parent !== null) {
  parent.on('message', (job: CountJob) => {
    // A failure ends the worker, and its error reaches whoever waits.
    void count(job).then((counted) => parent.postMessage(counted));
  });
}
