/** Child processes of the bench: pinned to a core where the machine allows it, and always stopped again. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** The last lines that it wrote. */
  output(): string;
  hasExited(): boolean;
  stop(): Promise<void>;
}

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly ipc?: boolean;
}

/** `peer` runs what is measured; `load` runs everything that measures. */
export type Side = 'peer' | 'load';

export interface Placement {
  readonly pinned: boolean;
  /** What the report says about it. */
  readonly note: string;
  /** Put before a command so that it runs on its side, with enough file descriptors. */
  prefix(side: Side): readonly string[];
  readonly fileLimit: number;
}

const OUTPUT_KEPT_CHARACTERS = 4_000;
const STOP_GRACE_MS = 5_000;
const FILES_WANTED = 65_536;

export function findPlacement(): Placement {
  const files = fileLimit();
  const canPin = availableParallelism() >= 2 && findBinary('taskset') !== null;
  return {
    pinned: canPin,
    note: canPin
      ? 'the peer under test on core 0; load and upstream on core 1'
      : 'NOT pinned: taskset or a second core is missing, so the figures are noisier',
    prefix: (side) => [...files.prefix, ...(canPin ? ['taskset', '-c', side === 'peer' ? '0' : '1'] : [])],
    fileLimit: files.limit,
  };
}

/** The hard limit, raised where the user may do so. */
function fileLimit(): { limit: number; prefix: readonly string[] } {
  const match = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
  const hard = Number(match?.[1] ?? 1024);
  if (hard >= FILES_WANTED) return { limit: hard, prefix: [] };
  const prefix = ['prlimit', `--nofile=${FILES_WANTED}:${FILES_WANTED}`];
  if (spawnSync('prlimit', [...prefix.slice(1), 'true']).status === 0) return { limit: FILES_WANTED, prefix };
  return { limit: hard, prefix: [] };
}

/** What is still running; none of it may outlive the bench, however that ends. */
const living = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGTERM');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

export function startChild(prefix: readonly string[], spec: ChildSpec): Child {
  const [command = spec.command, ...args] = [...prefix, spec.command, ...spec.args];
  const child = spawn(command, args, {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      ...spec.env,
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(spec.ipc ? (['ipc'] as const) : [])],
    serialization: 'advanced',
  });
  living.add(child);
  let output = '';
  const keep = (part: Buffer): void => {
    output = (output + part.toString()).slice(-OUTPUT_KEPT_CHARACTERS);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      keep(Buffer.from(`(ended with ${signal ?? code})`));
      living.delete(child);
      resolve();
    });
    child.once('error', (error) => {
      keep(Buffer.from(String(error)));
      resolve();
    });
  });
  const hasExited = (): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    if (hasExited()) return;
    // Not SIGTERM, after which a gateway first waits for load balancers.
    child.kill('SIGINT');
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    await exited;
    clearTimeout(kill);
  };
  return { pid: child.pid ?? -1, process: child, output: () => output, hasExited, stop };
}

export function findBinary(name: string): string | null {
  // nginx lives in sbin, which is not on every user's PATH.
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']) {
    if (folder !== '' && existsSync(join(folder, name))) return join(folder, name);
  }
  return null;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
