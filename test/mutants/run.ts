/**
 * `npm run mutants [-- --only NAME] [--jobs N] [--no-control]`: breaks a copy of the product in every way of the list, runs the
 * tests that should notice, and lists the mutants that no test noticed. Exit code 0 only where that list is empty.
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { NoLongerFits } from '../support/edits.ts';
import { MUTANTS, type Mutant, type TestRun } from './list.ts';
import { TestFailedToLoad, Workshop } from './workshop.ts';

/** A run of tests that takes longer is killed with everything that it has started. */
const RUN_TIMEOUT_MS = 180_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    jobs: { type: 'string' },
    'no-control': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});
const chosen = MUTANTS.filter(
  ({ name }) => values.only === undefined || values.only.some((part) => name.includes(part)),
);
if (chosen.length === 0)
  throw new Error(`no mutant has ${values.only?.join(' or ')} in its name; --list shows them all`);
if (values.list) {
  for (const { name } of chosen) console.log(name);
  process.exit(0);
}
const jobs = Number(values.jobs ?? Math.max(1, cpus().length));
const startedMs = Date.now();

type Verdict = 'noticed' | 'hung' | 'not noticed' | 'not broken properly' | 'no longer fits';

async function judge(workshop: Workshop, mutant: Mutant): Promise<Verdict> {
  using _broken = workshop.breakIt(mutant);
  for (const run of mutant.tests) {
    try {
      const end = await workshop.test(run, RUN_TIMEOUT_MS);
      if (end !== 'green') return end === 'red' ? 'noticed' : 'hung';
    } catch (error) {
      if (!(error instanceof TestFailedToLoad)) throw error;
      console.log(error.message);
      return 'not broken properly';
    }
  }
  return 'not noticed';
}

/** Gives the items to as many workshops as there are jobs. */
async function spread<T>(
  workshops: readonly Workshop[],
  items: readonly T[],
  work: (workshop: Workshop, item: T) => Promise<void>,
) {
  const left = [...items];
  await Promise.all(
    workshops.map(async (workshop) => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(workshop, item);
    }),
  );
}

await using stack = new AsyncDisposableStack();
const workshops = Array.from({ length: Math.min(jobs, chosen.length) }, () => stack.use(new Workshop()));

if (!values['no-control']) {
  // What is red without a mutant notices nothing.
  const runs = new Map<string, TestRun>(chosen.flatMap(({ tests }) => tests).map((run) => [JSON.stringify(run), run]));
  await spread(workshops, [...runs.values()], async (workshop, run) => {
    const first = await workshop.test(run, RUN_TIMEOUT_MS);
    // Once more: on a busy machine a test may run into its time-out.
    const end = first === 'green' ? first : await workshop.test(run, RUN_TIMEOUT_MS);
    if (end === 'green') return;
    console.log(`${run.join(' ')} is ${end} without a mutant; see\n${workshop.output}`);
    process.exitCode = 1;
  });
  console.log(`control: ${runs.size} runs of tests without a mutant, ${secondsSince(startedMs)} s`);
}

const verdicts = new Map<Verdict, string[]>();
if (process.exitCode !== 1) {
  await spread(workshops, chosen, async (workshop, mutant) => {
    const beganMs = Date.now();
    const verdict = await judge(workshop, mutant).catch((error: unknown): Verdict => {
      if (!(error instanceof NoLongerFits)) throw error;
      console.log(error.message);
      return 'no longer fits';
    });
    verdicts.set(verdict, [...(verdicts.get(verdict) ?? []), mutant.name]);
    const mark = { noticed: 'ok  ', 'no longer fits': 'skip' }[verdict as string] ?? 'FAIL';
    console.log(`${mark} ${mutant.name}: ${verdict} (${secondsSince(beganMs)} s)`);
  });
  const count = (verdict: Verdict): number => verdicts.get(verdict)?.length ?? 0;
  console.log(
    `\n${chosen.length} mutants in ${secondsSince(startedMs)} s: ${count('noticed') + count('hung')} noticed, ${count('no longer fits')} no longer fit`,
  );
  for (const name of verdicts.get('hung') ?? [])
    console.log(`WARNING: ${name}: a test hung until it was killed; it must end red by itself`);
  for (const name of verdicts.get('not broken properly') ?? []) console.log(`FAIL: ${name}: the mutant does not load`);
  const missed = verdicts.get('not noticed') ?? [];
  console.log(missed.length === 0 ? 'no mutant went unnoticed' : `not noticed by any test:\n  ${missed.join('\n  ')}`);
  if (missed.length > 0 || count('not broken properly') > 0 || count('hung') > 0) process.exitCode = 1;
}

function secondsSince(fromMs: number): number {
  return Math.round((Date.now() - fromMs) / 1_000);
}
