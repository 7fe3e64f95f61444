import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PROSE } from '../../../bench/counter-samples.ts';
import { countOutput } from '../../../src/counting/output-count.ts';
import { OutputSample } from '../../../src/wire/output-sample.ts';

function sampleOf(text: string): OutputSample {
  const sample = new OutputSample();
  sample.addText(text);
  return sample;
}

const COUNTED = { low: 90, likely: 100, high: 110 };
const LATE = { low: 0, likely: 5, high: Number.POSITIVE_INFINITY, late: true };

describe('output that nobody reported', () => {
  test('[R68] is the count of the sample, in proportion to all of the text', async () => {
    const text = PROSE.English;
    const bytes = Buffer.byteLength(text);
    const counter = { count: async () => COUNTED };
    assert.equal(await countOutput(counter, 'key', sampleOf(text), bytes, []), 100);
    assert.equal(await countOutput(counter, 'key', sampleOf(text), bytes * 3, []), 300);
  });

  test('[R68] is estimated from the sample where no count can be had in time', async () => {
    const text = PROSE.English;
    const tokens = await countOutput({ count: async () => LATE }, 'key', sampleOf(text), Buffer.byteLength(text), []);
    assert.ok(Math.abs(tokens / 188 - 1) < 0.1, `${tokens}`);
  });

  test('is not worth a count where it is short, and goes by its length where nothing is known of it', async () => {
    const counter = { count: () => Promise.reject(new Error('must not be asked')) };
    const tokens = await countOutput(counter, 'key', sampleOf('Hello there'), 11, []);
    assert.ok(tokens >= 1 && tokens <= 4, `${tokens}`);
    assert.equal(await countOutput(counter, 'key', new OutputSample(), 400, []), 100);
    assert.equal(await countOutput(counter, 'key', new OutputSample(), 0, []), 0);
  });
});
