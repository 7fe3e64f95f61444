import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { PROSE } from '../../../bench/counter-samples.ts';
import { ExactCounter } from '../../../src/counting/exact-counter.ts';
import type { CountJob } from '../../../src/counting/worker.ts';

const problems: unknown[] = [];
const onProblem = (problem: unknown): void => {
  problems.push(problem);
};
/** The thread loads the tokenizer first, however long that takes here. */
const waitMs = 600_000;

function jobFor(text: string): CountJob {
  return {
    texts: { certain: [text], definitions: [], others: [] },
    tokenizer: 'o200k_base',
    unitsMax: Number.POSITIVE_INFINITY,
  };
}

describe('counting off the loop', () => {
  const counter = new ExactCounter({ onProblem, waitMs });
  after(() => counter.close());

  test('the count is the tokenizer’s own, and what looks like a special token is text', async () => {
    const counted = await counter.count(jobFor(PROSE.English));
    assert.equal(counted?.likely, o200k(PROSE.English));
    assert.ok(((await counter.count(jobFor('a <|endoftext|> b')))?.likely ?? 0) > 3);
    assert.deepEqual(problems, []);
  });

  test('many at once are all counted, one after the other', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `${PROSE.English} ${index}`);
    const counts = await Promise.all(texts.map((text) => counter.count(jobFor(text))));
    assert.deepEqual(
      counts.map((counted) => counted?.likely),
      texts.map((text) => o200k(text)),
    );
  });

  test('more than the queue takes is not counted', async () => {
    const small = new ExactCounter({ onProblem, waitMs, queueMax: 1 });
    const counts = await Promise.all(['one', 'two', 'three'].map((text) => small.count(jobFor(text))));
    assert.deepEqual(
      counts.map((counted) => counted?.likely ?? null),
      [1, 1, null],
    );
    await small.close();
  });

  test('[R63] of too long a text the beginning is counted, which bounds it from below and not from above', async () => {
    const small = new ExactCounter({ onProblem, waitMs, unitsMax: 1_000 });
    const text = 'Hello world. '.repeat(1_000);
    const counted = await small.count(jobFor(text));
    assert.equal(counted?.likely, o200k(text.slice(0, 1_000)));
    assert.equal(counted.high, Number.POSITIVE_INFINITY);
    await small.close();
  });

  test('what takes too long is given up and reported, and the next one is counted', async () => {
    problems.length = 0;
    const hasty = new ExactCounter({ onProblem, waitMs: 1 });
    // A thread takes longer to start than this waits.
    assert.equal(await hasty.count(jobFor('Hello')), null);
    assert.equal(problems.length, 1);
    await hasty.close();
    const patient = new ExactCounter({ onProblem, waitMs });
    assert.equal((await patient.count(jobFor('Hello')))?.likely, 1);
    await patient.close();
    assert.equal(await patient.count(jobFor('Hello')), null, 'nothing is counted after the end');
  });
});
