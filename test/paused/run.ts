/**
 * `npm run test:paused [-- --seed N] [FILES]`: runs tests while their processes (test files, gateways, databases, a
 * browser) stand still at random for some seconds, as on a machine that is busy with something else. A test that fails only here
 * waits for a time, or for an order, that nobody guarantees. The seed repeats the choice, not what it meets. Linux only.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Random } from '../simulation/random.ts';

const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' } },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Date.now() % 2 ** 30);
if (!Number.isSafeInteger(seed) || process.platform !== 'linux') {
  process.stderr.write('expected --seed with a whole number, on Linux\n');
  process.exit(2);
}

const EVERY_MS = 500;
const PAUSE_MS = { least: 1_000, most: 5_000 };
/** Between two pauses of a process it gets on a little. */
const RUNS_MS = 2_000;
/** More of them, and a browser, which is many processes, does not get on at all. */
const PAUSED_MAX = 3;

interface Candidate {
  readonly pid: number;
  readonly command: string;
}

/** All processes below `root`. */
function below(root: number): readonly Candidate[] {
  const children = Map.groupBy(readdirSync('/proc').filter(isPid).map(Number), parentOf);
  const found: Candidate[] = [];
  const visit = (parent: number): void => {
    for (const pid of children.get(parent) ?? []) {
      found.push({ pid, command: commandOf(pid) });
      visit(pid);
    }
  };
  visit(root);
  return found;
}

const isPid = (name: string): boolean => /^\d+$/.test(name);

/** Its name, which may hold anything, is in parentheses; the state and the parent follow. */
function parentOf(pid: number): number {
  return Number(/^.*\) \S (\d+)/s.exec(textOf(`/proc/${pid}/stat`))?.[1] ?? 0);
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

/** Empty where the process has ended meanwhile. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

const files = positionals.length === 0 ? ['test/**/*.test.ts'] : positionals;
const flags = ['--test', '--test-concurrency=6', '--test-timeout=1800000'];
const runner = spawn(process.execPath, ['--import', './test/support/leftovers.ts', ...flags, ...files], {
  stdio: 'inherit',
});
const ended = once(runner, 'exit');
const random = new Random(seed);
const pausedUntilMs = new Map<number, number>();
const runsUntilMs = new Map<number, number>();
let pauses = 0;
while (runner.exitCode === null && runner.signalCode === null) {
  const nowMs = performance.now();
  for (const [pid, untilMs] of pausedUntilMs) {
    if (untilMs > nowMs) continue;
    signal(pid, 'SIGCONT');
    pausedUntilMs.delete(pid);
    runsUntilMs.set(pid, nowMs + RUNS_MS);
  }
  const free = below(runner.pid ?? 0).filter(
    ({ pid }) => !pausedUntilMs.has(pid) && (runsUntilMs.get(pid) ?? 0) <= nowMs,
  );
  const chosen = pausedUntilMs.size < PAUSED_MAX ? random.pick(free) : undefined;
  if (chosen !== undefined) {
    const ms = random.between(PAUSE_MS.least, PAUSE_MS.most);
    process.stderr.write(`paused for ${ms} ms: ${chosen.pid} ${chosen.command.slice(-100)}\n`);
    signal(chosen.pid, 'SIGSTOP');
    pausedUntilMs.set(chosen.pid, nowMs + ms);
    pauses += 1;
  }
  await Promise.race([delay(EVERY_MS), ended]);
}
for (const pid of pausedUntilMs.keys()) signal(pid, 'SIGCONT');
process.stderr.write(`${pauses} pauses, seed ${seed}\n`);
process.exitCode = runner.exitCode ?? 1;
