/** `npm run abuse -- --minutes 2`: attacks from outside on a started gateway, and what somebody else waits meanwhile. */
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres.ts';
import { ATTACKS } from './attacks.ts';
import { AIM_MS, type Attack, type Trial, type TrialOptions, tryAttack } from './trial.ts';

const HELP = `Usage: npm run abuse -- [--minutes N] [--engine sqlite|postgres] [--seed N] [--only NAME] [--list]

Attacks started gateways whose heap is small, and fails where memory, money or others' waiting times leave their bounds. Everything is on
the loopback interface and in temporary folders, and the load is bounded.
  --minutes N    how long all attacks take together, about (default 2)
  --engine NAME  sqlite (default) or postgres
  --seed N       draws what is random about the attacks (default: by the time of day)
  --only NAME    attacks whose name has this text
  --list         their names`;
/** What a start and the look at the books take of the time of each attack. */
const AROUND_S = 4;
const SECONDS_MIN = 3;

function options() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    options: { minutes: text, engine: text, seed: text, only: text, list: flag, help: flag },
  });
  const minutes = Number(values.minutes ?? '2');
  if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0, not "${values.minutes}"`);
  const engine = values.engine ?? 'sqlite';
  if (engine !== 'sqlite' && engine !== 'postgres')
    throw new Error(`--engine must be sqlite or postgres, not "${engine}"`);
  const seed = Number(values.seed ?? Date.now() % 1_000_000_000);
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be a whole number, not "${values.seed}"`);
  const only = values.only ?? '';
  const attacks = ATTACKS.filter(({ name }) => name.includes(only));
  if (attacks.length === 0) throw new Error(`no attack has "${only}" in its name`);
  return { minutes, engine, seed, attacks, list: values.list === true, help: values.help === true } as const;
}

const COLUMNS = ['attack', 'control p99', 'bystander p50', 'p99', 'most', `p99 ≤ ${AIM_MS} ms`, 'peak RSS', 'result'];

function row({ attack, control, attacked, peakMb, faults }: Trial): readonly string[] {
  return [
    `${attack.name} (${attack.tags})`,
    `${control.p99} ms`,
    `${attacked.p50} ms`,
    `${attacked.p99} ms`,
    `${attacked.most} ms`,
    attacked.p99 <= AIM_MS ? 'yes' : 'no',
    peakMb === null ? 'unknown' : `${peakMb} MB`,
    faults.length === 0 ? 'passed' : 'FAILED',
  ];
}

function table(trials: readonly Trial[]): string {
  const rows = [COLUMNS, ...trials.map(row)];
  const widths = COLUMNS.map((_none, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function show({ attack, figures, faults }: Trial): void {
  console.log(`${faults.length === 0 ? 'passed' : 'FAILED'}  ${attack.name}`);
  for (const figure of figures) console.log(`    ${figure}`);
  for (const fault of faults) console.log(`  ! ${fault}`);
}

async function attempt(attack: Attack, options: TrialOptions): Promise<Trial> {
  const trial = await tryAttack(attack, options).catch((error: unknown): Trial => {
    const none = { p50: 0, p99: 0, most: 0 };
    const fault = `it could not be tried: ${error instanceof Error ? (error.stack ?? error.message) : error}`;
    return { attack, control: none, attacked: none, peakMb: null, figures: [], faults: [fault] };
  });
  show(trial);
  return trial;
}

async function main(): Promise<number> {
  const { minutes, engine, seed, attacks, list, help } = options();
  if (help || list) {
    console.log(help ? HELP : attacks.map(({ name, tags }) => `${name} (${tags})`).join('\n'));
    return 0;
  }
  console.log(`${engine}, seed ${seed}`);
  await using parts = new AsyncDisposableStack();
  const postgres = engine === 'postgres' ? await startPostgres() : null;
  if (postgres !== null) parts.defer(() => postgres.stop());
  const seconds = Math.max(SECONDS_MIN, (minutes * 60) / attacks.length - AROUND_S);
  const trials: Trial[] = [];
  for (const attack of attacks) trials.push(await attempt(attack, { seed, postgres, seconds }));
  console.log(`\n${table(trials)}`);
  const failed = trials.filter(({ faults }) => faults.length > 0);
  const [first] = failed;
  if (first !== undefined)
    console.log(
      `again: npm run abuse -- --engine ${engine} --seed ${seed} --minutes 0.25 --only "${first.attack.name}"`,
    );
  console.log(`${trials.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`abuse: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 2;
}
