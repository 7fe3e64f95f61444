/** The examples of deploy/proxy, started with their real programs on free ports in front of gateways of a test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { root, tool } from './tools.ts';

export const PROXIES = ['nginx', 'caddy', 'envoy'] as const;
export type ProxyName = (typeof PROXIES)[number];

export interface RunningProxy extends AsyncDisposable {
  readonly origin: string;
  /** nginx only: sends nothing more to one of the two, or to both again. Resolves when no worker with another configuration is left. */
  leaveOut(place: 0 | 1 | null): Promise<void>;
}

const FILES: Readonly<Record<ProxyName, string>> = { nginx: 'nginx.conf', caddy: 'Caddyfile', envoy: 'envoy.yaml' };
const READY_MS = 120_000;

/** `gateways` are the two origins that stand behind it. */
export async function startProxy(name: ProxyName, gateways: readonly [string, string]): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`));
  const port = await freePort();
  const file = join(folder, FILES[name]);
  const example = readFileSync(join(root, 'deploy/proxy', FILES[name]), 'utf8');
  writeFileSync(file, configured(name, example, port, gateways, folder));
  const { path } = tool(name);
  const child = spawn(path, argumentsOf(name, file, folder), {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const stop = async (): Promise<void> => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const origin = `http://127.0.0.1:${port}`;
  try {
    await answering(origin, child);
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start: ${Buffer.concat(output).toString().slice(-2_000)}`, { cause: error });
  }
  const leaveOut = async (place: 0 | 1 | null): Promise<void> => {
    const text = configured(name, example, port, gateways, folder);
    const host = place === null ? null : new URL(gateways[place]).host;
    const before = childrenOf(child);
    writeFileSync(file, host === null ? text : text.replace(`server ${host} `, `server ${host} down `));
    child.kill('SIGHUP');
    // A worker that is replaced ends when its last request has.
    while (childrenOf(child).some((pid) => before.includes(pid))) await delay(50);
  };
  return { origin, leaveOut, [Symbol.asyncDispose]: stop };
}

/** The example with the addresses of this machine; nothing else of it changes. */
function configured(
  name: ProxyName,
  example: string,
  port: number,
  gateways: readonly [string, string],
  folder: string,
): string {
  const [first, second] = gateways.map((origin) => new URL(origin).host) as [string, string];
  if (name === 'envoy') {
    return example
      .replace('address: 0.0.0.0, port_value: 8080', `address: 127.0.0.1, port_value: ${port}`)
      .replace('address: gateway-1, port_value: 8080', `address: 127.0.0.1, port_value: ${first.split(':')[1]}`)
      .replace('address: gateway-2, port_value: 8080', `address: 127.0.0.1, port_value: ${second.split(':')[1]}`);
  }
  const text = example.replace('gateway-1:8080', first).replace('gateway-2:8080', second);
  if (name === 'caddy') return text.replace(':8080 {', `:${port} {\n\tbind 127.0.0.1`);
  // The folders that the package's own configuration gives to the system's user.
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => {
    mkdirSync(join(folder, kind), { mode: 0o777, recursive: true });
    return `${kind}_temp_path ${folder}/${kind};`;
  });
  return text
    .replace(
      'worker_processes auto;',
      `daemon off; pid ${folder}/pid; worker_processes 2;${process.getuid?.() === 0 ? ' user root;' : ''}`,
    )
    .replace('http {', `http { ${paths.join(' ')}`)
    .replace('listen 8080', `listen 127.0.0.1:${port}`);
}

function argumentsOf(name: ProxyName, file: string, folder: string): string[] {
  if (name === 'nginx') return ['-p', folder, '-c', file, '-e', join(folder, 'error.log')];
  if (name === 'caddy') return ['run', '--adapter', 'caddyfile', '--config', file];
  return ['-c', file, '--log-level', 'warning', '--disable-hot-restart', '--concurrency', '2'];
}

async function answering(origin: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    try {
      const response = await fetch(`${origin}/readyz`);
      await response.body?.cancel();
      if (response.status === 200) return;
      throw new Error(`/readyz is ${response.status}`);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

function childrenOf({ pid }: ChildProcess): readonly string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  // Only one that never ends: what nginx has started would outlive it.
  const kill = setTimeout(() => child.kill('SIGKILL'), 60_000);
  await gone;
  clearTimeout(kill);
}
