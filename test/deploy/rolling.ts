/**
 * Two gateways of one release on one PostgreSQL behind nginx are replaced by those of the next, one after the other, while clients go on.
 * The next release has another version and a migration that adds to the tables that requests write.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { startPostgres } from '../support/postgres.ts';
import { startProxy } from './proxy.ts';
import { root } from './tools.ts';

const run = promisify(execFile);
const CLIENTS = 4;
/** Long enough for nginx to see it; a gateway's own default is 5 s. */
const PRE_STOP_SECONDS = 2;
/**
 * Only adds: what the gateways of the release before write and read stays as it was. Not to `holds` and `entries`, of which the functions make whole
 * rows: a release that adds to them brings functions that do so too.
 */
const NEXT_MIGRATION = `
CREATE TABLE gateway.next_release (id text PRIMARY KEY);
ALTER TABLE gateway.accounts ADD COLUMN next_release text;
ALTER TABLE gateway.usage ADD COLUMN next_release text;
`;

export interface RollingReport {
  /** Answers that came complete. */
  readonly complete: number;
  readonly failures: readonly string[];
  /** What the ledger counts for the key of the clients. */
  readonly charged: number;
  /** Of the release after the one that it began with. */
  readonly versions: readonly string[];
  readonly audit: string;
  readonly ms: Readonly<Record<string, number>>;
}

export async function rollingUpgrade(): Promise<RollingReport> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-rolling-'));
  await using parts = new AsyncDisposableStack();
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startPostgres();
  parts.defer(() => server.stop());
  const old = releaseIn(join(folder, 'old'), '0.2.0', null);
  const next = releaseIn(join(folder, 'next'), '0.2.1', NEXT_MIGRATION);
  writeFileSync(join(folder, 'gateway.yaml'), `limits: { pre_stop: ${PRE_STOP_SECONDS}, drain: 20 }\n`);
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: server.url(await server.createDatabase()),
    GATEWAY_SECRET: 's'.repeat(40),
    GATEWAY_CONFIG: join(folder, 'gateway.yaml'),
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_DISCOVER_LOCAL: 'off',
    GATEWAY_LOG: 'error',
  };
  const ms: Record<string, number> = {};
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const begin = performance.now();
    const result = await work();
    ms[name] = performance.now() - begin;
    return result;
  };
  const command = async (release: string, ...words: string[]): Promise<string> => {
    const args = [join(release, 'bin/gateway.mjs'), ...words];
    return (await run(process.execPath, args, { env: { ...env, GATEWAY_DATA: join(folder, 'commands') } })).stdout;
  };

  const ports = [await freePort(), await freePort()] as const;
  const start = async (release: string, place: 0 | 1): Promise<ChildProcess> => {
    const data = join(folder, `data-${place}`);
    const child = spawn(process.execPath, [join(release, 'bin/gateway.mjs'), 'start'], {
      env: { ...env, GATEWAY_DATA: data, GATEWAY_PORT: String(ports[place]) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    parts.defer(() => void child.kill('SIGKILL'));
    await ready(`http://127.0.0.1:${ports[place]}`, child);
    return child;
  };
  const gateways = await timed('start of two gateways', async () => [await start(old, 0), await start(old, 1)]);
  const versions = [(await command(old, '--version')).split(' ')[0] ?? ''];
  const { id, key } = JSON.parse(
    await command(old, 'keys', 'create', '--mode', 'credit', '--credit', '100', '--json'),
  ) as {
    id: string;
    key: string;
  };
  const proxy = await startProxy('nginx', [`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`]);
  parts.use(proxy);

  const load = new Load(proxy.origin, key);
  try {
    await load.reached(20);
    await timed('gateway upgrade, while the old ones serve', () => command(next, 'upgrade'));
    await load.reached(load.complete + 20);
    for (const place of [0, 1] as const) {
      await timed(`replacing gateway ${place + 1}`, async () => {
        const before = gateways[place];
        if (before === undefined) throw new Error('no gateway there');
        // nginx does not ask /readyz: it is told.
        await proxy.leaveOut(place);
        const gone = once(before, 'exit');
        before.kill('SIGTERM');
        const [code] = await gone;
        if (code !== 0) load.failures.push(`gateway ${place + 1} ended with ${code}`);
        gateways[place] = await start(next, place);
        await proxy.leaveOut(null);
      });
      await load.reached(load.complete + 20);
    }
  } finally {
    await load.end();
  }
  versions.push((await command(next, '--version')).split(' ')[0] ?? '');
  const audit = await command(next, 'audit');
  const shown = JSON.parse(await command(next, 'usage', '--key', id, '--json')) as { total: { requests: number } };
  for (const child of gateways) {
    const gone = once(child, 'exit');
    child.kill('SIGINT');
    await gone;
  }
  return { complete: load.complete, failures: load.failures, charged: shown.total.requests, versions, audit, ms };
}

/** The sources as they are here, as a release of its own. */
function releaseIn(folder: string, version: string, migration: string | null): string {
  mkdirSync(folder);
  for (const name of ['src', 'bin']) cpSync(join(root, name), join(folder, name), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  if (migration !== null) {
    const migrations = join(folder, 'src/ledger/migrations/postgres');
    const newest = Math.max(...readdirSync(migrations).map((name) => Number.parseInt(name, 10) || 0));
    writeFileSync(join(migrations, `${String(newest + 1).padStart(4, '0')}-next-release.sql`), migration);
  }
  return folder;
}

async function ready(origin: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`a gateway ended with ${child.exitCode}`);
    const response = await fetch(`${origin}/readyz`).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await delay(50);
  }
}

/** Clients that ask one after the other, whole and streamed, and look at every answer to its end. */
class Load {
  complete = 0;
  readonly failures: string[] = [];
  readonly #clients: Promise<void>[];
  #waiting: { readonly count: number; readonly wake: () => void } | null = null;
  #busy = true;

  constructor(origin: string, key: string) {
    this.#clients = Array.from({ length: CLIENTS }, (_, index) => this.#client(origin, key, index % 2 === 0));
  }

  reached(count: number): Promise<void> {
    return new Promise((wake) => {
      this.#waiting = { count, wake };
      this.#wake();
    });
  }

  async end(): Promise<void> {
    this.#busy = false;
    await Promise.all(this.#clients);
  }

  async #client(origin: string, key: string, stream: boolean): Promise<void> {
    const body = JSON.stringify({
      model: 'sandbox/alpha',
      max_tokens: 40,
      stream,
      messages: [{ role: 'user', content: 'Hello!' }],
    });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    while (this.#busy) {
      try {
        // A connection of its own: nginx closes those that are kept when it is reloaded, which is nothing of the gateways'.
        const request = httpRequest(`${origin}/v1/chat/completions`, { method: 'POST', headers, agent: false });
        request.end(body);
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        const answer = await text(response);
        const whole = stream ? answer.endsWith('data: [DONE]\n\n') : answer.endsWith('}');
        if (response.statusCode === 200 && whole) this.complete += 1;
        else this.failures.push(`${response.statusCode}: ${answer.slice(-300)}`);
      } catch (error) {
        this.failures.push(String(error));
      }
      this.#wake();
    }
  }

  #wake(): void {
    if (this.#waiting === null) return;
    if (this.complete < this.#waiting.count && this.failures.length === 0) return;
    this.#waiting.wake();
    this.#waiting = null;
  }
}
