/** The lean server against Node's parser, with the same connections in each run; `npm run fuzz` takes others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverDifferential } from './differential.ts';

const SEED = 20_261_002;
const RUNS = 1_500;

test("what the lean server accepts, Node's parser accepts as the same: valid connections and damaged ones", async () => {
  const { accepted, refused } = await serverDifferential(SEED, RUNS);
  const both = `${refused} refused, ${accepted} accepted: it looks at both sides`;
  assert.ok(refused > RUNS / 10 && accepted > RUNS / 10, both);
});
