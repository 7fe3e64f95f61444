/** PgBouncer itself, in front of a PostgreSQL of a test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { tool } from './tools.ts';

export const pgbouncer = tool('pgbouncer');

export interface RunningPgBouncer extends AsyncDisposable {
  readonly port: number;
  /** Ends it as `kill -9` does, and starts it again on the same port. */
  restart(): Promise<void>;
}

/** The unprivileged user that every system has: it does not run as root. */
const NOBODY_ID = 65_534;
/** 1.21: from then on it keeps prepared statements in transaction mode. */
const KEEPS_PREPARED_MINOR = 21;

export function keepsPrepared(): boolean {
  const { stdout } = spawnSync(pgbouncer.path, ['--version']);
  return Number(/PgBouncer 1\.(\d+)/.exec(String(stdout))?.[1] ?? 0) >= KEEPS_PREPARED_MINOR;
}

export async function startPgBouncer(
  serverPort: number,
  poolMode: string,
  poolSize = 40,
  clients = 200,
): Promise<RunningPgBouncer> {
  const folder = temporaryFolder('gateway-pgbouncer');
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n');
  // Sessions take turns, so that no transaction finds by chance what the one before has left.
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users.txt')}`,
    `pool_mode = ${poolMode}`,
    'server_round_robin = 1',
    `default_pool_size = ${poolSize}`,
    `max_client_conn = ${clients}`,
    ...(keepsPrepared() ? ['max_prepared_statements = 100'] : []),
  ];
  writeFileSync(file, settings.join('\n'));
  const identity = process.getuid?.() === 0 ? { uid: NOBODY_ID, gid: NOBODY_ID } : {};
  const run = async (): Promise<ChildProcess> => {
    const child = spawn(pgbouncer.path, [file], { ...identity, stdio: ['ignore', 'ignore', 'pipe'] });
    await ready(child);
    return child;
  };
  const end = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  let child = await run();
  return {
    port,
    restart: async () => {
      await end(child);
      child = await run();
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      if (text.length < 100_000) text += chunk.toString();
      if (text.includes('process up')) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`pgbouncer ended with ${code}: ${text}`)));
  });
}
