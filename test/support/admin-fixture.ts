/** What the admin tests stand on: a data folder of their own, the real store in it, and the command as a process. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { operatorsFile, storeFile } from '../../src/admin/data-folder.ts';
import { AdminService, type AdminServiceOptions } from '../../src/admin/service.ts';
import { Alerts, type AlertsOptions } from '../../src/alerts/alerts.ts';
import { SqlAlertStore } from '../../src/alerts/sql-store.ts';
import type { Clock } from '../../src/core/clock.ts';
import { NO_LOG } from '../../src/core/log.ts';
import { Audits } from '../../src/ledger/audits.ts';
import { createLedger, type OwnedLedger } from '../../src/ledger/ledger.ts';
import { openSyncStore } from '../../src/ledger/sqlite/engine.ts';
import { openLogFile } from '../../src/ledger/sqlite/wal-file.ts';
import { Operators } from '../../src/operators/operators.ts';
import { SqlOperatorStore } from '../../src/operators/sql-store.ts';
import { openSqliteEngine } from '../../src/operators/sqlite.ts';
import { lateEngine, type SqlEngine } from '../../src/storage/sql-engine.ts';
import { adminOf, type TestAdmin } from './admin-client.ts';
import { alertPolicy } from './alert-policy.ts';
import type { Asked } from './command-host.ts';
import { emptyStore } from './empty-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const SECRET = 'installation-secret-for-tests-0123456789';
export const START_MS = Date.UTC(2026, 0, 15, 12);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

export interface AdminFixture {
  /** The operations, called through the routes. */
  readonly service: TestAdmin;
  /** What the routes stand on. */
  readonly adminService: AdminService;
  readonly ledger: OwnedLedger;
  readonly operators: Operators;
  readonly alerts: Alerts;
  /** Moves as the test says. */
  readonly clock: { atMs: number; nowMs(): number };
}

export function adminFixture(
  t: TestContext,
  options: Partial<AdminServiceOptions> = {},
  ofAlerts: Partial<AlertsOptions> = {},
): AdminFixture {
  const folder = temporaryFolder();
  const clock = { atMs: START_MS, nowMs: () => clock.atMs };
  const ledger = createLedger(openSyncStore({ file: emptyStore(storeFile(folder)), clock }));
  t.after(() => ledger.close());
  const operators = testOperators(folder, clock);
  t.after(() => operators.close());
  const engine = operatorEngine(folder);
  t.after(() => engine.close());
  const alerts = new Alerts({
    store: new SqlAlertStore(engine),
    ledger,
    trail: operators,
    policy: () => alertPolicy(),
    providers: async () => [],
    installationSecret: SECRET,
    log: NO_LOG,
    nowMs: () => clock.atMs,
    // No test calls a receiver on the internet.
    resolve: async () => [],
    ...ofAlerts,
  });
  const adminService = new AdminService({
    ledger,
    operators,
    alerts,
    audits: new Audits({ ledger, alerts, everyMs: () => null, log: NO_LOG, nowMs: () => clock.atMs }),
    console: () => ({ origin: 'http://127.0.0.1:8081', fingerprint: null }),
    installationSecret: SECRET,
    clock,
    gatewayOrigin: 'http://127.0.0.1:8080',
    known: null,
    ...options,
  });
  return { service: adminOf(adminService), adminService, ledger, clock, operators, alerts };
}

/** Operators in a file of that folder. */
export function testOperators(folder: string, clock: Clock): Operators {
  const store = new SqlOperatorStore(operatorEngine(folder));
  return new Operators({ store, installationSecret: SECRET, clock });
}

function operatorEngine(folder: string): SqlEngine {
  return lateEngine(async () => openSqliteEngine({ file: operatorsFile(folder), openLog: openLogFile }));
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment of a command on that data folder. */
function commandEnvironment(dataDir: string): Record<string, string> {
  const { PATH = '', TMPDIR = tmpdir() } = process.env;
  // Where a path is too long for a socket, both sides find it in the folder for temporary files.
  return { PATH, TMPDIR, GATEWAY_DATA: dataDir, GATEWAY_PORT: '18080' };
}

/** Runs `gateway …` on the data folder, in a process of its own, and waits for its end. */
export async function gateway(dataDir: string, ...line: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(PROJECT, 'bin', 'gateway.mjs'), ...line], {
    cwd: PROJECT,
    env: commandEnvironment(dataDir),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

let host: ChildProcess | null = null;

/** The same for tests of what a command does, not of its process: all of them run in one, which takes a tenth of the time. */
export async function command(dataDir: string, ...line: readonly string[]): Promise<Ended> {
  return runCommand(commandEnvironment(dataDir), line);
}

/** One at a time. */
export async function runCommand(env: Record<string, string>, line: readonly string[]): Promise<Ended> {
  host ??= startHost();
  const running = host;
  const over = new AbortController();
  running.channel?.ref();
  try {
    running.send({ line, env } satisfies Asked);
    return await Promise.race([
      once(running, 'message', over).then(([ended]) => ended as Ended),
      once(running, 'exit', over).then(([code]) =>
        Promise.reject(new Error(`the commands' process ended with ${code}`)),
      ),
    ]);
  } finally {
    over.abort();
    running.channel?.unref();
  }
}

function startHost(): ChildProcess {
  const child = fork(join(PROJECT, 'test', 'support', 'command-host.ts'), { cwd: PROJECT, execArgv: [] });
  // It ends when this process does.
  child.unref();
  return child;
}

/** `command … --json` that must succeed; its one line, parsed. */
export async function commandJson<T = Record<string, unknown>>(
  dataDir: string,
  ...line: readonly string[]
): Promise<T> {
  return parsed(line, await command(dataDir, ...line, '--json'));
}

/** `gateway … --json` that must succeed; its one line, parsed. */
export async function gatewayJson<T = Record<string, unknown>>(
  dataDir: string,
  ...line: readonly string[]
): Promise<T> {
  return parsed(line, await gateway(dataDir, ...line, '--json'));
}

function parsed<T>(line: readonly string[], { code, stdout, stderr }: Ended): T {
  if (code !== 0) throw new Error(`gateway ${line.join(' ')} ended with ${code}: ${stderr}`);
  if (stdout.indexOf('\n') !== stdout.length - 1) throw new Error(`not one line: ${stdout}`);
  return JSON.parse(stdout) as T;
}

export interface AdminProcess {
  readonly process: ChildProcess;
  /** Ends it as given and waits until it is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** A process that holds the store and listens on its socket, as a gateway does. */
export async function adminProcess(t: TestContext, dataDir: string): Promise<AdminProcess> {
  const child = spawn(process.execPath, [join(PROJECT, 'test', 'support', 'admin-process-child.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'close');
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  t.after(() => end('SIGKILL'));
  const [text] = (await Promise.race([once(child.stdout, 'data'), gone])) as [Buffer | number];
  if (!Buffer.isBuffer(text)) throw new Error(`the admin process ended with ${text}`);
  return { process: child, end };
}
