import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base';
import { PROSE } from '../../../bench/counter-samples.ts';
import { cutRuns } from '../../../src/counting/exact-count.ts';
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
    const counted = await counter.count(jobFor(PROSE.English), 'key');
    assert.equal(counted.likely, o200k(PROSE.English));
    assert.ok((await counter.count(jobFor('a <|endoftext|> b'), 'key')).likely > 3);
    assert.deepEqual(problems, []);
  });

  test('many at once are all counted, one after the other', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `${PROSE.English} ${index}`);
    const counts = await Promise.all(texts.map((text) => counter.count(jobFor(text), 'key')));
    assert.deepEqual(
      counts.map((counted) => counted.likely),
      texts.map((text) => o200k(text)),
    );
  });

  test('more than the queue takes is not counted', async () => {
    const small = new ExactCounter({ onProblem, waitMs, queueMax: 1 });
    const counts = await Promise.all(['one', 'two', 'three'].map((text) => small.count(jobFor(text), 'key')));
    assert.deepEqual(
      counts.map(({ likely, late }) => [likely, late ?? false]),
      [
        [1, false],
        [1, false],
        [0, true],
      ],
    );
    await small.close();
  });

  test('more than the queue of one key takes leaves room for another', async () => {
    const small = new ExactCounter({ onProblem, waitMs, queueMax: 0 });
    const counts = await Promise.all(['a', 'a', 'b'].map((keyId) => small.count(jobFor('Hello'), keyId)));
    assert.deepEqual(
      counts.map(({ late }) => late ?? false),
      [false, true, false],
    );
    await small.close();
  });

  test('[R63] [F44] keys take turns: the count of one is not behind the giant prompts of another', async () => {
    const shared = new ExactCounter({ onProblem, waitMs });
    const giant = Array.from({ length: 40_000 }, (_, index) => `word ${index}`).join(' ');
    let done = 0;
    const flood = Array.from({ length: 10 }, async () => {
      const counted = await shared.count(jobFor(giant), 'flood');
      done += 1;
      return counted;
    });
    const others = ['a', 'b', 'c'].map((keyId) => shared.count(jobFor('Hello'), keyId));
    assert.deepEqual(
      (await Promise.all(others)).map(({ likely }) => likely),
      [1, 1, 1],
    );
    assert.equal(done, 0, 'all of the flood is still being counted');
    // What has been counted by then bounds the rest from below.
    await shared.close();
    const [first, ...rest] = await Promise.all(flood);
    assert.ok(first !== undefined && first.low > 1_000 && first.low < o200k(giant), JSON.stringify(first));
    for (const { late, high } of [first, ...rest]) assert.deepEqual([late, high], [true, Number.POSITIVE_INFINITY]);
  });

  test('a text that is counted in several slices comes to the same, but for a token at each cut', async () => {
    for (const unit of ['All men are born equal in dignity. ', '😀', 'ünïcödé wörds ']) {
      const text = unit.repeat(Math.ceil(150_000 / unit.length));
      const { low, likely, high } = await counter.count(jobFor(text), 'key');
      const tokens = cutRuns(text).reduce((sum, piece) => sum + o200k(piece), 0);
      // Between words there is none.
      assert.ok(Math.abs(likely - tokens) <= (unit.includes(' ') ? 0 : 5), `${likely} for ${tokens} of ${unit}`);
      assert.ok(low <= tokens && tokens <= high);
    }
  });

  test('[R63] of too long a text the beginning is counted, which bounds it from below and not from above', async () => {
    const small = new ExactCounter({ onProblem, waitMs, unitsMax: 1_000 });
    const text = 'Hello world. '.repeat(1_000);
    const counted = await small.count(jobFor(text), 'key');
    assert.equal(counted.likely, o200k(text.slice(0, 1_000)));
    assert.equal(counted.high, Number.POSITIVE_INFINITY);
    await small.close();
  });

  test('what takes too long is given up and reported, and the next one is counted', async () => {
    problems.length = 0;
    const hasty = new ExactCounter({ onProblem, waitMs: 1 });
    // A thread takes longer to start than this waits.
    assert.equal((await hasty.count(jobFor('Hello'), 'key')).late, true);
    assert.equal(problems.length, 1);
    await hasty.close();
    const patient = new ExactCounter({ onProblem, waitMs });
    assert.equal((await patient.count(jobFor('Hello'), 'key')).likely, 1);
    await patient.close();
    assert.equal((await patient.count(jobFor('Hello'), 'key')).late, true, 'nothing is counted after the end');
  });
});
