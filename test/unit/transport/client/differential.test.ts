/** The lean client against undici, with the same responses in each run; `npm run fuzz` takes others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientDifferential } from './differential.ts';

const SEED = 20_261_115;
const RUNS = 400;

describe('against undici', () => {
  test('a response out of usual and unusual parts, or with a wrong byte: accepted here, it is accepted there, as the same', async () => {
    const accepted = await clientDifferential(SEED, RUNS);
    assert.ok(accepted > RUNS / 10, `only ${accepted} were accepted`);
  });
});
