/** The gateway as a process of its own, started as a user starts it, so that it can be killed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { socketPath } from '../../src/admin/socket.ts';
import { adminAt, type TestAdmin } from './admin-client.ts';
import { configFileIn, gatewayEnvironment } from './gateway-environment.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../bin/gateway.mjs');

export interface GatewayProcess {
  readonly origin: string;
  readonly admin: TestAdmin;
  readonly child: ChildProcess;
  /** Everything that it has written. */
  output(): string;
  /** Resolves with its exit code when the process is gone and everything that it has written was read. */
  readonly ended: Promise<number | null>;
  /** Resolves when what it has written fits: lines of the log are written a moment after what they tell of. */
  until(wanted: RegExp): Promise<void>;
  /** Resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Resolves when the gateway says that it listens. */
export async function gatewayProcess(
  dataDir: string,
  env: Record<string, string> = {},
  flags: readonly string[] = [],
  /** How many files it may have open; by default as many as this process. */
  files?: number,
  /** Told of the process before it listens, so that it can be killed while it starts. */
  onSpawn: (child: ChildProcess) => void = () => {},
): Promise<GatewayProcess> {
  let output = '';
  withoutPreStop(configFileIn(dataDir));
  const command = [process.execPath, LAUNCHER, 'start', ...flags];
  const limited = files === undefined ? command : ['sh', '-c', `ulimit -n ${files}; exec "$@"`, 'sh', ...command];
  const child = spawn(limited[0] ?? '', limited.slice(1), {
    env: {
      PATH: process.env.PATH,
      ...gatewayEnvironment(dataDir),
      GATEWAY_CONFIG: configFileIn(dataDir),
      GATEWAY_LOG: 'warn',
      // That of the tests: one that is killed never writes its own.
      ...(process.env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Not `exit`, which comes before the last lines of its output.
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  onSpawn(child);
  const origin = await new Promise<string>((done, failed) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const listening = /listens on (https?:\S+)/.exec(output);
      if (listening?.[1] !== undefined) done(listening[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void ended.then((code) => failed(new Error(`the gateway ended with ${code}: ${output}`)));
  });
  const admin = adminAt(socketPath(dataDir));
  return {
    origin,
    admin,
    child,
    output: () => output,
    ended,
    until: (wanted) =>
      new Promise((done, failed) => {
        const look = (): void => {
          if (wanted.test(output)) done();
        };
        // Behind `read`, which was added first.
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        void ended.then(() => failed(new Error(`the gateway ended without ${wanted}: ${output}`)));
        look();
      }),
    kill: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await ended;
    },
  };
}

/** No load balancer watches a gateway under test: it need not wait for one, unless its config file says so. */
function withoutPreStop(file: string): void {
  if (!existsSync(file)) return;
  const config = parse(readFileSync(file, 'utf8')) as { readonly limits?: { readonly pre_stop?: number } } | null;
  if (config?.limits?.pre_stop !== undefined) return;
  writeFileSync(file, JSON.stringify({ ...config, limits: { ...config?.limits, pre_stop: 0 } }));
}
