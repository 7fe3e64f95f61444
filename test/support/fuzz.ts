/** Generated inputs, the same at every run. */
import type { TestContext } from 'node:test';
import fc from 'fast-check';

/** Change it to look further. */
const SEED = 20_260_815;
const RUNS = 150;

export function fuzz<T>(t: TestContext, input: fc.Arbitrary<T>, check: (input: T) => Promise<void>): Promise<void> {
  t.diagnostic(`seed ${SEED}, ${RUNS} runs`);
  return fc.assert(fc.asyncProperty(input, check), { seed: SEED, numRuns: RUNS });
}

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;
const CODE_POINT_MAX = 0x10ffff;

/** Any character, for `fc.string`: those of its unit `binary`, which spends a second on a table of all of them. */
export const anyCharacter = fc.integer({ min: 0, max: CODE_POINT_MAX - SURROGATES }).map(
  (number) => String.fromCodePoint(number < SURROGATES_FROM ? number : number + SURROGATES),
  (text) => {
    if (typeof text !== 'string' || [...text].length !== 1 || !text.isWellFormed()) throw new Error('not a character');
    const point = text.codePointAt(0) ?? 0;
    return point < SURROGATES_FROM ? point : point - SURROGATES;
  },
);
