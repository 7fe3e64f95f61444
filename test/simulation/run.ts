/** `npm run simulate -- --seconds 600`: goes on with new seeds until the time is over or something is found. */
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres.ts';
import { postgresBackend } from './postgres-world.ts';
import { describeViolation, newTally, type Schedule, shrink, simulate } from './simulate.ts';
import { sqliteInFile, sqliteInMemory } from './sqlite-world.ts';
import type { Backend } from './world.ts';

const HELP = `Usage: npm run simulate -- [--seconds N] [--seed N] [--steps N] [--engine NAME] [--only LIST]

Runs random schedules on the ledger against a simple model, until something differs or the time is over.
  --seconds N    how long (default 60)
  --seed N       the first seed (default: by the time of day); with --only or --seconds 0, the only one
  --steps N      steps of each schedule (default 60)
  --engine NAME  sqlite (default, in memory), file (SQLite in a file) or postgres
  --only LIST    only these steps of the seed, as a report names them`;

interface Options {
  readonly seconds: number;
  readonly schedule: Schedule;
  readonly engine: string;
}

function readOptions(): Options | 'help' {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { seconds: text, seed: text, steps: text, engine: text, only: text, help: { type: 'boolean' } },
    allowPositionals: false,
  });
  if (values.help === true) return 'help';
  const steps = whole('--steps', values.steps ?? '60');
  const seed = whole('--seed', values.seed ?? String(Date.now() % 1_000_000_000));
  const only = values.only?.split(',').map((step) => whole('--only', step));
  return {
    seconds: only === undefined ? whole('--seconds', values.seconds ?? '60') : 0,
    schedule: { seed, steps, ...(only === undefined ? {} : { only }) },
    engine: values.engine ?? 'sqlite',
  };
}

function whole(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${option} must be a whole number, not "${text}"`);
}

async function openBackend(engine: string): Promise<{ backend: Backend; close(): Promise<void> }> {
  const close = async (): Promise<void> => undefined;
  if (engine === 'sqlite') return { backend: sqliteInMemory(), close };
  if (engine === 'file') return { backend: sqliteInFile(), close };
  if (engine === 'postgres') {
    const server = await startPostgres();
    return { backend: await postgresBackend(server), close: () => server.stop() };
  }
  throw new Error(`--engine must be sqlite, file or postgres, not "${engine}"`);
}

/** Whether nothing was found. */
async function simulateFor({ seconds, schedule, engine }: Options): Promise<boolean> {
  const { backend, close } = await openBackend(engine);
  const tally = newTally();
  const startedAtMs = Date.now();
  let { seed } = schedule;
  try {
    do {
      const found = await simulate(backend, { ...schedule, seed }, tally);
      if (found !== null) {
        console.error(describeViolation(backend, found));
        if (schedule.only === undefined) console.error(describeViolation(backend, await shrink(backend, found)));
        return false;
      }
      seed++;
    } while (Date.now() - startedAtMs < seconds * 1_000);
    return true;
  } finally {
    const took = ((Date.now() - startedAtMs) / 1_000).toFixed(1);
    console.log(
      `${backend.name}: seeds ${schedule.seed} to ${seed - 1}, ${tally.schedules} schedules of ${schedule.steps} steps, ` +
        `${tally.operations} operations, ${tally.charges} charges, ${tally.faults} faults, ${tally.restarts} restarts, ${took} s`,
    );
    await close();
  }
}

try {
  const options = readOptions();
  if (options === 'help') console.log(HELP);
  else process.exitCode = (await simulateFor(options)) ? 0 : 1;
} catch (error) {
  console.error(`simulate: ${error instanceof Error ? error.message : String(error)}\n${HELP}`);
  process.exitCode = 2;
}
