/** Thousands of random schedules on the ledger against a simple model; each is reproduced by its seed alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startPostgres } from '../support/postgres.ts';
import { postgresBackend } from './postgres-world.ts';
import { describeViolation, newTally, shrink, simulate, type Tally } from './simulate.ts';
import { sqliteInFile, sqliteInMemory } from './sqlite-world.ts';
import type { Backend } from './world.ts';

const STEPS = 25;

/** The seeds are fixed, so that a failure is never a matter of luck; `npm run simulate` goes on with others, also in CI. */
async function simulateSeeds(backend: Backend, from: number, count: number): Promise<Tally> {
  const tally = newTally();
  for (let seed = from; seed < from + count; seed++) {
    const found = await simulate(backend, { seed, steps: STEPS }, tally);
    if (found !== null) {
      assert.fail(`${describeViolation(backend, found)}\n${describeViolation(backend, await shrink(backend, found))}`);
    }
  }
  return tally;
}

describe('random operations, crashes, lost leases, clock jumps and store errors: the books are always the model’s', () => {
  test('[F1] [F2] [F3] [F5] [F8] [F10] [F11] [F37] [R11] [R13] [R15] [R16] [R17] SQLite', async () => {
    const tally = await simulateSeeds(sqliteInMemory(), 1, 300);
    // The schedules reach what they are meant to reach.
    assert.ok(tally.charges > 700 && tally.faults > 700 && tally.restarts > 300, JSON.stringify(tally));
  });

  test('[F1] [F2] [F3] [F8] SQLite in a file, whose log is torn in the middle of a commit', async () => {
    const tally = await simulateSeeds(sqliteInFile(), 1, 60);
    assert.ok(tally.restarts > 60, JSON.stringify(tally));
  });

  test('[F1] [F2] [F3] [F5] [F10] [F37] [R11] [R13] [R15] [R16] [R17] PostgreSQL, shared by two gateways', async () => {
    const server = await startPostgres();
    try {
      const tally = await simulateSeeds(await postgresBackend(server), 1, 10);
      assert.ok(tally.charges > 40 && tally.restarts > 8, JSON.stringify(tally));
    } finally {
      await server.stop();
    }
  });

  test('a seed reproduces its run exactly', async () => {
    const recordOf = async (seed: number) => {
      const inner = sqliteInMemory();
      const said: string[] = [];
      const backend: Backend = {
        ...inner,
        open: async (clock) => {
          const world = await inner.open(clock);
          return {
            apply: async (batch, fault, cut) => {
              const applied = await world.apply(batch, fault, cut);
              said.push(`${clock.nowMs()} ${fault} ${text(batch)} ${text(applied)}`);
              return applied;
            },
            restart: () => world.restart(),
            close: () => world.close(),
          };
        },
      };
      assert.equal(await simulate(backend, { seed, steps: STEPS }), null);
      return said;
    };
    const first = await recordOf(7);
    assert.deepEqual(await recordOf(7), first);
    assert.notDeepEqual(await recordOf(8), first);
  });
});

function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}
