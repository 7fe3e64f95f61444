/**
 * Other people's programs, each in a process group of its own, so that what they start ends with them, and so that all of
 * them end when this process is told to end: a group that is not the terminal's gets no signal from there.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Ended {
  /** Null when it was killed: its time was over, or it was stopped. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** With what it had printed, as far as it had ended. */
export function failureOf(error: unknown, ended: Ended | null): Error {
  const printed = ended && `stdout: ${ended.stdout.slice(-2_000)}\nstderr: ${ended.stderr.slice(-2_000)}`;
  return new Error(error instanceof Error ? error.message : String(error), { cause: printed });
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Stops it as Ctrl-C does. */
  readonly stop?: AbortSignal | undefined;
  /** Ends it whatever it does. */
  readonly kill?: AbortSignal | undefined;
}

/** The leaders of the groups that have not ended. */
const running = new Set<number>();

function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (leader !== undefined) process.kill(-leader, signal);
  } catch {
    // The group is gone already.
  }
}

/** A process that leads a group; what is left of the group ends with it. */
export function startGroup(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  const { pid } = child;
  if (pid === undefined) return child;
  running.add(pid);
  child.once('exit', () => {
    running.delete(pid);
    signalGroup(pid, 'SIGKILL');
  });
  return child;
}

export function run(command: string, args: readonly string[], place: Place): Promise<Ended> {
  const { cwd, env, timeoutMs, stop, kill } = place;
  return new Promise((resolve, reject) => {
    const child = startGroup(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const texts = { stdout: '', stderr: '' };
    const timer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), timeoutMs);
    stop?.addEventListener('abort', () => signalGroup(child.pid, 'SIGINT'));
    kill?.addEventListener('abort', () => signalGroup(child.pid, 'SIGKILL'));
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.on('data', (data: Buffer) => {
        texts[name] += data.toString();
      });
    }
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...texts });
    });
  });
}

/** The signals that ask this process to end also end every group; `last` is done before it ends. */
export function endGroupsOnSignals(last: (signal: NodeJS.Signals) => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      for (const leader of running) signalGroup(leader, 'SIGKILL');
      try {
        last(signal);
      } finally {
        process.exit(128 + constants.signals[signal]);
      }
    });
  }
}
