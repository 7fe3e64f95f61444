/** Breaks a copy of the ledger on purpose, in every way of the list, and shows that the simulation notices. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { MUTATIONS, type Mutation } from './mutations.ts';
import { simulate } from './simulate.ts';
import { type SqliteParts, sqliteInMemory } from './sqlite-world.ts';

const SOURCE = resolve(import.meta.dirname, '../../src');
/** Within so many schedules a mutation must be noticed. */
const SCHEDULES_MAX = 400;
const STEPS = 40;

const folder = mkdtempSync(join(tmpdir(), 'gateway-mutants-'));
after(() => rmSync(folder, { recursive: true }));
let mutants = 0;

async function mutant({ edits }: Pick<Mutation, 'edits'>): Promise<SqliteParts> {
  const root = join(folder, String(mutants++));
  for (const part of ['core', 'lib', 'ledger']) cpSync(join(SOURCE, part), join(root, part), { recursive: true });
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  for (const [file, from, to] of edits) {
    const path = join(root, 'ledger', file);
    const text = readFileSync(path, 'utf8');
    assert.equal(text.split(from).length, 2, `${file} must hold this once: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  const load = (file: string) => import(pathToFileURL(join(root, 'ledger', file)).href);
  const [{ createEngine }, { readMigrations }] = await Promise.all([load('sqlite/engine.ts'), load('migrations.ts')]);
  return { createEngine, readMigrations };
}

/** How many schedules it took; null when nothing was noticed. */
async function noticedAfter(parts: SqliteParts, schedules: number): Promise<number | null> {
  const backend = sqliteInMemory(parts);
  for (let seed = 1; seed <= schedules; seed++) {
    if ((await simulate(backend, { seed, steps: STEPS })) !== null) return seed;
  }
  return null;
}

describe('the simulation notices a ledger in which', () => {
  test('nothing is wrong: not at all', async () => {
    assert.equal(await noticedAfter(await mutant({ edits: [] }), 50), null);
  });

  for (const mutation of MUTATIONS) {
    test(mutation.name, async (t) => {
      const schedules = await noticedAfter(await mutant(mutation), SCHEDULES_MAX);
      assert.ok(schedules !== null, `not noticed within ${SCHEDULES_MAX} schedules`);
      t.diagnostic(`noticed after ${schedules} schedules`);
    });
  }
});
