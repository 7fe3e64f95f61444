/** Breaks a copy of the ledger on purpose, in every way of the list, and shows that the simulation notices. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { ifItFits } from '../support/edits.ts';
import { mutant } from './mutants.ts';
import { MUTATIONS } from './mutations.ts';
import { simulate } from './simulate.ts';
import { type SqliteParts, sqliteInMemory } from './sqlite-world.ts';

/** Within so many schedules a mutation must be noticed. */
const SCHEDULES_MAX = 400;
/**
 * The schedule that noticed each mutation when the list was written, which is tried first: that takes an eighth of the time.
 * `UPDATE_NOTICED=1` writes it anew.
 */
const NOTICED = new URL('noticed.json', import.meta.url);
const noticedBy: Record<string, number> = JSON.parse(readFileSync(NOTICED, 'utf8'));
const STEPS = 40;

after(() => {
  if (process.env.UPDATE_NOTICED !== undefined) writeFileSync(NOTICED, `${JSON.stringify(noticedBy, null, 2)}\n`);
});

/** The first schedule that noticed something; null when none did. */
async function noticed(parts: SqliteParts, schedules: readonly number[]): Promise<number | null> {
  const backend = sqliteInMemory(parts);
  for (const seed of schedules) {
    if ((await simulate(backend, { seed, steps: STEPS })) !== null) return seed;
  }
  return null;
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('the simulation notices a ledger in which', () => {
  test('nothing is wrong: not at all', async () => {
    assert.equal(await noticed(await mutant({ edits: [] }), upTo(50)), null);
  });

  for (const mutation of MUTATIONS) {
    test(mutation.name, async (t) => {
      const known = process.env.UPDATE_NOTICED === undefined ? noticedBy[mutation.name] : undefined;
      const parts = await ifItFits(t, () => mutant(mutation));
      if (parts === null) return;
      const seed = await noticed(parts, [...(known === undefined ? [] : [known]), ...upTo(SCHEDULES_MAX)]);
      assert.ok(seed !== null, `not noticed within ${SCHEDULES_MAX} schedules`);
      if (seed !== known) t.diagnostic(`noticed by schedule ${seed}`);
      noticedBy[mutation.name] = seed;
    });
  }
});
