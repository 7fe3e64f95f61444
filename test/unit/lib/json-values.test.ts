import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { hasMoreValues } from '../../../src/lib/json-values.ts';

/** The value itself, and what is in it at every depth. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}

describe('[F43] values are counted before they are built', () => {
  test('as many as JSON.parse would make, however they are written down', () => {
    const space = fc.constantFrom(undefined, 1, '\t', '\n');
    // Strings of marks and escapes, also longer than what is read byte by byte.
    const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', ',', '{', '[', '€'), maxLength: 80 });
    const json = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.integer(), text, fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('value')),
      object: fc.dictionary(text, tie('value'), { noNullPrototype: true }),
    })).value;
    fc.assert(
      fc.property(json, space, (value, indent) => {
        const written = Buffer.from(JSON.stringify(value, null, indent));
        const count = valuesIn(value);
        // Behind it, so that the text is long enough to be counted.
        const bytes = Buffer.concat([written, Buffer.alloc(2 * count, ' ')]);
        assert.equal(hasMoreValues(bytes, count), false);
        assert.equal(hasMoreValues(bytes, count - 1), true);
      }),
      { numRuns: 500 },
    );
  });

  test('the count ends where the limit is passed, and what is not JSON is left to the parser', () => {
    const endless = Buffer.from('[1,'.repeat(1_000));
    assert.equal(hasMoreValues(endless, 999), true);
    assert.equal(hasMoreValues(Buffer.from(`["${'\\"'.repeat(1_000)}`), 2), false);
    assert.equal(hasMoreValues(Buffer.from('{'.padEnd(100)), 2), false);
  });
});
