/** Gateways in front of one scripted provider, for responses that are made in the background. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import type { CreatedKey } from '../../src/admin/keys/schema.ts';
import type { Format } from '../../src/core/endpoints.ts';
import { startPostgres } from './postgres.ts';
import { configText } from './scripted-gateway.ts';
import { type StartedGateway, startedGateway } from './started-gateway.ts';
import { ScriptedServer } from './upstreams/scripted.ts';
import { SPEECH, UPSTREAM_MODEL } from './upstreams/spoken.ts';

export type Engine = 'sqlite' | 'postgres';

interface SceneOptions {
  readonly engine?: Engine;
  /** What the provider speaks. */
  readonly format?: Format;
  readonly timeouts?: object;
  readonly streams?: object;
  readonly limits?: object;
  readonly settings?: object;
  readonly env?: Record<string, string>;
}

export interface RunScene extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly upstream: ScriptedServer;
  /** On the same store: PostgreSQL only. */
  another(): Promise<StartedGateway>;
}

/** One server for all scenes of a file; `after` of the file must stop it. */
let server: ReturnType<typeof startPostgres> | null = null;

export async function stopPostgres(): Promise<void> {
  const started = server;
  server = null;
  await (await started)?.stop();
}

export async function runScene(options: SceneOptions = {}): Promise<RunScene> {
  const { engine = 'sqlite', format = 'responses', timeouts = {}, streams = {}, limits = {}, settings = {} } = options;
  const upstream = await ScriptedServer.start();
  const base_url = `http://127.0.0.1:${upstream.port}/v1`;
  const config = configText({
    providers: { one: { kind: 'openai', base_url, api_key: 'sk-one', formats: [format], timeouts } },
    targets: [{ provider: 'one', model: UPSTREAM_MODEL }],
    routing: { max_attempts: 1 },
    streams,
    limits,
    settings,
  });
  if (engine === 'postgres') server ??= startPostgres();
  const database = engine === 'postgres' ? await server : null;
  const url = database === null || database === undefined ? null : database.url(await database.createDatabase());
  const env = { ...(url === null ? {} : { DATABASE_URL: url, GATEWAY_LEASE_SECONDS: '2' }), ...options.env };
  const started: StartedGateway[] = [];
  const another = async (): Promise<StartedGateway> => {
    const gateway = await startedGateway({ config, env });
    started.push(gateway);
    return gateway;
  };
  const gateway = await another();
  return {
    gateway,
    upstream,
    another,
    [Symbol.asyncDispose]: async () => {
      try {
        assert.deepEqual((await gateway.audit()).findings, []);
      } finally {
        for (const each of started.reverse()) await each[Symbol.asyncDispose]();
        await upstream.close();
      }
    },
  };
}

export function sdk(key: CreatedKey, origin?: string): OpenAI {
  const baseURL = origin === undefined ? key.base_url : key.base_url.replace(key.origin, origin);
  return new OpenAI({ apiKey: key.key, baseURL, maxRetries: 0 });
}

/** What a client sends, as the official package takes it. */
export const ASKED = { model: 'tested', input: 'Hello', background: true } as const;

/** The provider's stream up to its first texts, and what is left of it. */
export function spoken(format: Format = 'responses') {
  const { opening, text, closing } = SPEECH[format];
  return { opening, text, closing };
}

/** Resolves with what is asked for once it is there. */
export async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
