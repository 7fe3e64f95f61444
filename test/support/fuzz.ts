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
