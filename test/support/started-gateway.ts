/** The real gateway, composed as `npm start` composes it, on free ports and a data folder of its own. */

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { storeFile } from '../../src/admin/data-folder.ts';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import { installationSecret } from '../../src/admin/secrets.ts';
import { socketPath } from '../../src/admin/socket.ts';
import type { AuditView } from '../../src/admin/state/schema.ts';
import { readSettings } from '../../src/config/settings.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import type { RequestObserver } from '../../src/core/request-record.ts';
import { startGateway } from '../../src/process/start.ts';
import { adminAt, type TestAdmin } from './admin-client.ts';
import { emptyStore } from './empty-store.ts';
import { configFileIn, gatewayEnvironment } from './gateway-environment.ts';
import { type GatedUpstream, gatedUpstream } from './upstreams/gated.ts';

/** The config of a gateway that waits for an exact count, however busy the machine is; otherwise the defaults. */
export const COUNTS_EXACTLY = 'limits: { count_wait: 300 }';

export interface StartedGateway extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  readonly admin: TestAdmin;
  readonly adminPort: number;
  /** What the start printed. */
  readonly printed: readonly string[];
  readonly dataDir: string;
  creditKey(input?: Record<string, unknown>): Promise<CreatedKey>;
  tokenKey(input?: Record<string, unknown>): Promise<CreatedKey>;
  audit(): Promise<AuditView>;
  /** Stops the gateway and keeps its data folder, for a start after it. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** The text of the config file; none by default. */
  readonly config?: string;
  readonly dataDir?: string;
  readonly env?: Record<string, string>;
  /** Where the gateway logs to; nowhere by default. */
  readonly log?: Log;
  /** Told about every request, where one thread serves. */
  readonly observers?: readonly RequestObserver[];
  /** As if it were started at a terminal. */
  readonly terminal?: boolean;
}

export async function startedGateway(options: StartOptions = {}): Promise<StartedGateway> {
  const ownFolder = options.dataDir === undefined;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'gateway-test-')));
  const env = { ...gatewayEnvironment(dataDir), ...options.env };
  if (options.config !== undefined) {
    env.GATEWAY_CONFIG = configFileIn(dataDir);
    await writeFile(env.GATEWAY_CONFIG, options.config);
  }
  // As a start before this one would have left them, which is quicker than to make them.
  if (ownFolder && env.DATABASE_URL === undefined && env.GATEWAY_SECRET === undefined) {
    await installationSecret(dataDir, null);
    emptyStore(storeFile(dataDir));
  }
  const printed: string[] = [];
  const print = (line: string): number => printed.push(line);
  const { log = NO_LOG, observers, terminal } = options;
  const running = await startGateway(readSettings(env), env, log, print, observers, terminal);
  const admin = adminAt(socketPath(dataDir));
  let stopped = false;
  const stop = async (): Promise<void> => {
    if (!stopped) await running.close();
    stopped = true;
  };
  return {
    origin: running.origin,
    admin,
    adminPort: running.adminPort,
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

/** For all tests of a file: started now; audited and stopped after them. */
export async function withGateway(options: StartOptions = {}): Promise<StartedGateway> {
  const gateway = await startedGateway(options);
  after(() => auditAndStop(gateway));
  return gateway;
}

/** The same in front of an upstream that answers when a test lets it. */
export async function withGatedGateway(): Promise<{
  readonly gateway: StartedGateway;
  readonly upstream: GatedUpstream;
}> {
  const upstream = await gatedUpstream();
  const gateway = await startedGateway({ config: upstream.config });
  after(async () => {
    await auditAndStop(gateway);
    await upstream[Symbol.asyncDispose]();
  });
  return { gateway, upstream };
}

async function auditAndStop(gateway: StartedGateway): Promise<void> {
  try {
    assert.deepEqual((await gateway.audit()).findings, []);
  } finally {
    await gateway[Symbol.asyncDispose]();
  }
}

export interface Call {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** One request; a body that is not a string is sent as JSON. */
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
