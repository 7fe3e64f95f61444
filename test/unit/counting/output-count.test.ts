import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PROSE } from '../../../bench/counter-samples.ts';
import type { ExactCount } from '../../../src/counting/exact-count.ts';
import { OutputCount } from '../../../src/counting/output-count.ts';
import { mayBeHidden } from '../../../src/routing/output-speeds.ts';
import { OutputSample } from '../../../src/wire/output-sample.ts';

function sampleOf(text: string): OutputSample {
  const sample = new OutputSample();
  sample.addText(text);
  return sample;
}

/** What a counter that answers like this makes of the text. */
async function counted(answer: ExactCount, text: string): Promise<OutputCount> {
  const output = new OutputCount({ count: async () => answer }, 'key', []);
  await output.count(sampleOf(text));
  return output;
}

const COUNTED = { low: 90, likely: 100, high: 110 };
const LATE = { low: 0, likely: 5, high: Number.POSITIVE_INFINITY, late: true };

describe('output that nobody reported', () => {
  test('[R68] is the count of the sample, in proportion to all of the text', async () => {
    const bytes = Buffer.byteLength(PROSE.English);
    const output = await counted(COUNTED, PROSE.English);
    assert.equal(output.likely(bytes), 100);
    assert.equal(output.likely(bytes * 3), 300);
  });

  test('[R68] is estimated from the sample where no count can be had in time', async () => {
    const tokens = (await counted(LATE, PROSE.English)).likely(Buffer.byteLength(PROSE.English));
    assert.ok(Math.abs(tokens / 188 - 1) < 0.1, `${tokens}`);
  });

  test('is not worth a count where it is short, and goes by its length where nothing is known of it', async () => {
    const counter = { count: () => Promise.reject(new Error('must not be asked')) };
    const short = new OutputCount(counter, 'key', []);
    await short.count(sampleOf('Hello there'));
    assert.ok(short.likely(11) >= 1 && short.likely(11) <= 4, `${short.likely(11)}`);
    const nothing = new OutputCount(counter, 'key', []);
    await nothing.count(new OutputSample());
    assert.equal(nothing.likely(400), 100);
    assert.equal(nothing.likely(0), 0);
  });

  test('[R13] its bound is that of its bytes until it is counted, and of the count and further bytes after that', async () => {
    const bytes = Buffer.byteLength(PROSE.English);
    const uncounted = new OutputCount({ count: async () => COUNTED }, 'key', []);
    assert.equal(uncounted.atMost(bytes), bytes);
    assert.equal(uncounted.bytesWithin(50), 50);
    const output = await counted(COUNTED, PROSE.English);
    assert.equal(output.atMost(bytes + 7), 117);
    assert.equal(output.bytesWithin(117), bytes + 7);
    const late = await counted(LATE, PROSE.English);
    assert.equal(late.atMost(bytes + 7), bytes + 7);
  });

  test('[R13] text that outgrows a sample is kept for the count, all of it', async () => {
    const texts: string[] = [];
    const output = new OutputCount(
      {
        count: async ({ texts: { certain } }) => {
          texts.push(...certain);
          return COUNTED;
        },
      },
      'key',
      [],
    );
    const sample = new OutputSample();
    sample.widen();
    const piece = 'The quick brown fox. '.repeat(50);
    let whole = '';
    while (whole.length < 200_000) {
      sample.addText(piece);
      whole += piece;
      output.collect(sample);
    }
    await output.count(sample);
    assert.equal(texts.join(''), whole);
  });
});

test('[R13] [R68] text of any script is taken for what it is: nothing of it looks hidden', async () => {
  const encode = (await import('gpt-tokenizer/encoding/o200k_base')).countTokens;
  for (const [language, prose] of Object.entries(PROSE)) {
    const text = prose.repeat(8);
    const sample = sampleOf(text);
    const output = new OutputCount({ count: () => Promise.reject(new Error('must not be asked')) }, 'key', []);
    const visible = output.likelyBy(sample, Buffer.byteLength(text));
    assert.equal(mayBeHidden(encode(text), visible), false, `${language}: ${encode(text)} of ${visible}`);
  }
});
