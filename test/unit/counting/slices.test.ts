import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { slicesOf } from '../../../src/counting/slices.ts';

const SLICE_UNITS = 32 * 1_024;
const text = fc
  .tuple(fc.constantFrom('a', 'word ', '😀', '  ', 'x😀'), fc.integer({ min: 0, max: 40_000 }))
  .map(([unit, count]) => unit.repeat(count));
const texts = fc.record({
  certain: fc.array(text, { maxLength: 4 }),
  definitions: fc.array(text, { maxLength: 2 }),
  others: fc.array(text, { maxLength: 2 }),
});

describe('slices of a prompt', () => {
  test('are all of it in its order, none much longer than it may be, and no cut is inside of a character', () => {
    fc.assert(
      fc.property(texts, (all) => {
        const { slices, whole } = slicesOf(all, Number.POSITIVE_INFINITY);
        assert.equal(whole, true);
        for (const kind of ['certain', 'definitions', 'others'] as const) {
          const pieces = slices.flatMap((slice) => slice.texts[kind]);
          assert.ok(pieces.join('') === all[kind].join(''));
          assert.ok(pieces.every((piece) => piece.isWellFormed()));
        }
        for (const { texts: sliced } of slices) {
          assert.ok(Object.values(sliced).flat().join('').length <= 2 * SLICE_UNITS);
        }
        const pieces = slices.flatMap((slice) => Object.values(slice.texts).flat()).length;
        const cuts = slices.reduce((sum, slice) => sum + slice.cuts, 0);
        assert.equal(
          pieces - cuts,
          Object.values(all)
            .flat()
            .filter((one) => one !== '').length,
        );
      }),
      { numRuns: 50 },
    );
  });

  test('of the beginning they are as long as is asked for, however many texts it has', () => {
    const all = {
      certain: Array.from({ length: 1_000 }, () => 'Hello'),
      definitions: ['x'.repeat(50_000)],
      others: [],
    };
    for (const [unitsMax, length, isWhole] of [
      [4_000, 4_000, false],
      [54_999, 54_999, false],
      [55_000, 55_000, true],
      [60_000, 55_000, true],
    ] as const) {
      const { slices, whole } = slicesOf(all, unitsMax);
      const units = slices.flatMap((slice) => Object.values(slice.texts).flat()).join('').length;
      assert.deepEqual([units, whole], [length, isWhole], `${unitsMax}`);
    }
  });
});
