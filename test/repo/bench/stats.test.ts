import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { bootstrapMedian, median, pairedDifference, pairedRatio, percentile } from '../../../bench/stats.ts';

const rounds = (values: readonly number[]): Map<number, number> => new Map(values.entries());

describe('figures of the benchmark', () => {
  test('a median is the middle value, or the mean of the two in the middle', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
    assert.ok(Number.isNaN(median([])));
  });

  test('percentiles lie between the smallest and the largest value', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1 }),
        fc.integer({ min: 0, max: 100 }),
        (values, percent) => {
          const found = percentile(values, percent);
          return found >= Math.min(...values) && found <= Math.max(...values);
        },
      ),
    );
  });

  test('a ratio pairs the rounds that both have and leaves out the rest', () => {
    const numerator = new Map([
      [0, 20],
      [1, 9],
      [2, 40],
    ]);
    const denominator = new Map([
      [0, 10],
      [2, 20],
    ]);
    const found = pairedRatio(numerator, denominator);
    assert.deepEqual(found, { median: 2, low: 2, high: 2, rounds: 2 });
  });

  test('a drift that both share falls out of the ratio and of the difference', () => {
    const drift = [1, 2, 4, 8, 16];
    assert.equal(pairedRatio(rounds(drift.map((d) => 3 * d)), rounds(drift))?.high, 3);
    assert.equal(pairedDifference(rounds(drift.map((d) => d + 5)), rounds(drift))?.low, 5);
  });

  test('the same samples give the same interval, and it holds the median', () => {
    const values = [1.2, 0.9, 1.1, 1.4, 1, 1.05, 0.97];
    const found = bootstrapMedian(values);
    assert.deepEqual(found, bootstrapMedian(values));
    assert.ok(found !== null && found.low <= found.median && found.median <= found.high);
    assert.equal(bootstrapMedian([]), null);
  });
});
