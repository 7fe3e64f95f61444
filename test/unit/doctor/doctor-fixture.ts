/** Providers that behave as a test says, and the doctor looking at them: in this process, or as the command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { readSettings } from '../../../src/config/settings.ts';
import { checkAll } from '../../../src/doctor/doctor.ts';
import type { ProviderReport, Report } from '../../../src/doctor/report.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../../bin/gateway.mjs');

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

export interface Said {
  readonly status?: number;
  readonly body: object | string;
  readonly headers?: Record<string, string>;
}

export interface FakeProvider {
  readonly origin: string;
  readonly asked: Asked[];
}

/** `answer` returns null for a provider that stays silent. */
export async function fakeProvider(t: TestContext, answer: (asked: Asked) => Said | null): Promise<FakeProvider> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const one: Asked = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      };
      asked.push(one);
      const said = answer(one);
      if (said === null) return;
      response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers });
      response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
    });
  });
  const port = await listen(server);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${port}`, asked };
}

/** An origin where nobody listens. */
export async function deadOrigin(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

/** What an honest chat provider says: it lists `names`, and answers for them. */
export function honest(names: readonly string[]): (asked: Asked) => Said {
  return ({ method, body }) => {
    if (method === 'GET') return { body: { object: 'list', data: names.map((id) => ({ id, object: 'model' })) } };
    if (!names.includes(String(body.model))) return { status: 404, body: { error: { message: 'no such model' } } };
    const message = { role: 'assistant', content: 'OK' };
    return {
      body: {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: body.model,
        choices: [{ index: 0, message, finish_reason: 'length' }],
        usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      },
    };
  };
}

export interface ConfigFixture {
  readonly folder: string;
  readonly env: Record<string, string>;
}

/** A folder with a config file, gone after the test; YAML is a superset of JSON. */
export async function writeConfig(config: object | string): Promise<ConfigFixture> {
  const folder = temporaryFolder('gateway-doctor');
  const file = join(folder, 'gateway.yaml');
  await writeFile(file, typeof config === 'string' ? config : JSON.stringify(config));
  return {
    folder,
    env: { GATEWAY_DATA: join(folder, 'data'), GATEWAY_CONFIG: file, GATEWAY_DISCOVER_LOCAL: 'off' },
  };
}

/** A model `m` with one chat target at a provider `p`. */
export function configOf(origin: string, provider: object = {}, model: object = {}): object {
  return {
    providers: { p: { kind: 'openai', base_url: `${origin}/v1`, api_key: SECRET, ...provider } },
    models: [
      {
        id: 'm',
        targets: [{ provider: 'p', model: 'upstream-m' }],
        context_window: 1000,
        max_output_tokens: 100,
        pricing: { input: 1, output: 2 },
        ...model,
      },
    ],
    sandbox: false,
  };
}

export const SECRET = 'sk-very-secret-0123456789';

export interface Looked {
  readonly report: Report;
  /** The only provider. */
  readonly p: ProviderReport;
}

/** More than any machine needs for an answer of its own. */
const PATIENCE_MS = 120_000;

/** In this process; there is no store, so nothing may reach for it. */
export async function look(
  config: object | string,
  options: { readonly probes?: boolean; readonly timeoutMs?: number } = {},
): Promise<Looked> {
  const { env } = await writeConfig(config);
  const report = await checkAll({
    settings: readSettings(env),
    env,
    probes: true,
    timeoutMs: PATIENCE_MS,
    connectAdmin: () => Promise.reject(new Error('the doctor must not open a store that does not exist')),
    ...options,
  });
  const [p] = report.providers;
  return {
    report,
    get p() {
      if (!p) throw new Error(`no provider was looked at: ${report.to_do.join('; ')}`);
      return p;
    },
  };
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `gateway doctor …` as a process. */
export async function command(env: Record<string, string>, ...flags: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [LAUNCHER, 'doctor', ...flags], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}
