/** The real gateway, composed as `npm start` composes it, on free ports and a data folder of its own. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { AuditView, CreatedKey } from '../../src/admin/api.ts';
import { AdminClient } from '../../src/admin/client.ts';
import { socketPath } from '../../src/admin/socket.ts';
import { readSettings } from '../../src/config/settings.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import { startGateway } from '../../src/process/start.ts';

export interface StartedGateway extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly admin: AdminClient;
  /** What the start printed. */
  readonly printed: readonly string[];
  readonly dataDir: string;
  creditKey(input?: Record<string, unknown>): Promise<CreatedKey>;
  tokenKey(input?: Record<string, unknown>): Promise<CreatedKey>;
  audit(): Promise<AuditView>;
  /** Stops the gateway and keeps its data folder, for a start after it. */
  stop(): Promise<void>;
}

/** The tests of a started gateway run a second time with the other transport (`npm test`). */
const TRANSPORT = process.env.GATEWAY_HTTP === undefined ? {} : { GATEWAY_HTTP: process.env.GATEWAY_HTTP };

export interface StartOptions {
  /** The text of the config file; none by default. */
  readonly config?: string;
  readonly dataDir?: string;
  readonly env?: Record<string, string>;
  /** Where the gateway logs to; nowhere by default. */
  readonly log?: Log;
}

export async function startedGateway(options: StartOptions = {}): Promise<StartedGateway> {
  const ownFolder = options.dataDir === undefined;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'gateway-test-')));
  const env: Record<string, string> = {
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_DATA: dataDir,
    GATEWAY_DISCOVER_LOCAL: 'off',
    ...TRANSPORT,
    ...options.env,
  };
  if (options.config !== undefined) {
    env.GATEWAY_CONFIG = join(dataDir, 'gateway.yaml');
    await writeFile(env.GATEWAY_CONFIG, options.config);
  }
  const printed: string[] = [];
  const running = await startGateway(readSettings(env), env, options.log ?? NO_LOG, (line) => printed.push(line));
  const admin = new AdminClient(socketPath(dataDir));
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (!stopped) await running.close();
    stopped = true;
  };
  return {
    origin: running.origin,
    admin,
    printed,
    dataDir,
    creditKey: (input = {}) => admin.createKey({ mode: 'credit', credit: '5', ...input }),
    tokenKey: (input = {}) => admin.createKey({ mode: 'token_budget', budget: '1000000', ...input }),
    audit: () => admin.audit(),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      if (ownFolder) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** For all tests of a file, whose books must add up at its end. */
export async function auditedGateway(): Promise<StartedGateway> {
  const gateway = await startedGateway();
  after(async () => {
    assert.deepEqual((await gateway.audit()).findings, []);
    await gateway[Symbol.asyncDispose]();
  });
  return gateway;
}

export interface Call {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** One request; a body that is no string is sent as JSON. */
export async function call(url: string, { method, key, headers = {}, body }: Call = {}): Promise<Response> {
  return fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}
