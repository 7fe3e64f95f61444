/** Generated prices. */
import fc from 'fast-check';
import type { Rates } from '../../../src/core/money.ts';

/** Audio and image prices may be missing, as in a price list. */
export function arbitraryRates(max: bigint): fc.Arbitrary<Rates> {
  const rate = fc.bigInt({ min: 0n, max });
  return fc.record(
    {
      input: rate,
      output: rate,
      cacheRead: rate,
      cacheWrite: rate,
      cacheWrite1h: rate,
      inputAudio: rate,
      inputImage: rate,
      outputAudio: rate,
      outputImage: rate,
    },
    { requiredKeys: ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h'] },
  );
}
