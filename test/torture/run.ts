/** `npm run torture -- --minutes 10`: real processes, real faults, and a book of what the clients saw. */
import { parseArgs } from 'node:util';
import { postgresWorld } from './postgres-world.ts';
import { sqliteWorld } from './sqlite-world.ts';
import { type Figures, torture } from './torture.ts';

const HELP = `Usage: npm run torture -- [--minutes N] [--engine sqlite|postgres] [--gateways N] [--workers N] [--seed N] [--round N]

Starts gateways as processes, loads them, kills, freezes and cuts them and what they depend on, and compares what the clients
saw with the ledger after each round. Everything is on the loopback interface and in temporary folders.
  --minutes N    how long (default 2); the round that runs is finished
  --engine NAME  sqlite (default) or postgres
  --gateways N   how many on one database (default 2); they need postgres
  --workers N    worker processes of each gateway (default 1); they need postgres
  --seed N       draws the load and the faults (default: by the time of day)
  --round N      only this round of the seed, as a report names it`;

function whole(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${option} must be a whole number, not "${text}"`);
}

function summary(name: string, seed: number, seconds: number, { byFault, ...figures }: Figures): string {
  const faults = [...byFault].map(([fault, times]) => `${times} × ${fault}`).join(', ');
  return [
    `${name}, seed ${seed}, ${seconds} s: ${figures.rounds} rounds, ${figures.crashes} crashes, ${figures.calls} calls`,
    `  seen complete: ${figures.complete}, replayed: ${figures.replayed}, refused for balance or rate: ${figures.refused}, without any answer: ${figures.unanswered}, caps changed: ${figures.changes}`,
    `  faults: ${faults || 'none'}`,
  ].join('\n');
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      minutes: text,
      engine: text,
      gateways: text,
      workers: text,
      seed: text,
      round: text,
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const minutes = Number(values.minutes ?? '2');
  if (!(minutes >= 0)) throw new Error(`--minutes must be a number, not "${values.minutes}"`);
  const engine = values.engine ?? 'sqlite';
  if (engine !== 'sqlite' && engine !== 'postgres')
    throw new Error(`--engine must be sqlite or postgres, not "${engine}"`);
  const workers = Math.max(1, whole('--workers', values.workers ?? '1'));
  const gateways = Math.max(1, whole('--gateways', values.gateways ?? '2'));
  const seed = whole('--seed', values.seed ?? String(Date.now() % 1_000_000_000));
  const only = values.round === undefined ? null : whole('--round', values.round);
  console.log(`seed ${seed}`);

  const startedMs = Date.now();
  if (engine === 'sqlite' && workers > 1) throw new Error('--workers needs --engine postgres');
  await using world = engine === 'sqlite' ? await sqliteWorld() : await postgresWorld({ gateways, workers });
  const { figures, violations } = await torture(world, {
    seed,
    firstRound: only ?? 1,
    more: (rounds) => (only === null ? Date.now() - startedMs < minutes * 60_000 : rounds === 0),
    log: (line) => {
      if (process.stdout.isTTY || process.env.TORTURE_VERBOSE !== undefined) console.log(line);
    },
  });
  console.log(summary(world.name, seed, Math.round((Date.now() - startedMs) / 1_000), figures));
  console.log(
    violations.length === 0 ? '0 violations' : `${violations.length} VIOLATIONS:\n  ${violations.join('\n  ')}`,
  );
  if (violations.length === 0) return 0;
  const round = /^round (\d+)/.exec(violations[0] ?? '')?.[1];
  console.log(`again: npm run torture -- --engine ${engine} --workers ${workers} --seed ${seed} --round ${round}`);
  return 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`torture: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 2;
}
