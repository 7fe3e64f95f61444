/** The real gateway in front of upstreams under test, and a client that sees every byte as it arrives. */
import assert from 'node:assert/strict';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { after } from 'node:test';
import type { CreatedKey, KeyView } from '../../src/admin/keys/schema.ts';
import type { Format } from '../../src/core/endpoints.ts';
import { type Log, NO_LOG } from '../../src/core/log.ts';
import type { RequestObserver } from '../../src/core/request-record.ts';
import { accountWhen, auditClean } from './requests.ts';
import { type StartedGateway, startedGateway } from './started-gateway.ts';
import { ScriptedServer } from './upstreams/scripted.ts';
import { FORMAT_NAMES, SPEECH, UPSTREAM_MODEL } from './upstreams/spoken.ts';

export interface ConfigParts {
  readonly providers: Readonly<Record<string, object>>;
  /** Of the model `tested`. */
  readonly targets: readonly object[];
  readonly streams?: object;
  readonly routing?: object;
  readonly limits?: object;
  /** Further members of the model `tested`, and of the configuration. */
  readonly model?: object;
  readonly settings?: object;
}

/** YAML is a superset of JSON. */
export function configText(parts: ConfigParts): string {
  const { providers, targets, streams = {}, routing = {}, limits = {} } = parts;
  const models = [modelOf({ id: 'tested', targets, ...parts.model })];
  return configOf(providers, models, { streams, routing, limits: { ...LIMITS, ...limits }, ...parts.settings });
}

/** A test that failed midway must not hold up the end of its file; and no count is given up on a busy machine. */
const LIMITS = { drain: 1, count_wait: 300 };

function modelOf(parts: object): object {
  return { context_window: 200_000, max_output_tokens: 8_000, pricing: { input: 1, output: 4 }, ...parts };
}

function configOf(providers: object, models: readonly object[], settings: object): string {
  return JSON.stringify({ providers, models, sandbox: false, limits: LIMITS, ...settings });
}

interface SceneModel {
  readonly id: string;
  readonly provider?: string;
  readonly upstream?: string;
  readonly [member: string]: unknown;
}

export interface Scene {
  /** By their names; what is left out of one is that of a server of OpenAI's kind with every format. */
  readonly providers: Readonly<Record<string, object>>;
  /** `provider` stands for the one target of a model, `upstream` for the name of the model there. */
  readonly models: readonly SceneModel[];
  /** Further members of the configuration. */
  readonly settings?: object;
}

export interface ScriptedScene extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly upstream: ScriptedServer;
}

/** A gateway with these providers, all of which are one server that does what the test says. */
export async function scriptedScene({ providers, models, settings = {} }: Scene): Promise<ScriptedScene> {
  const upstream = await ScriptedServer.start();
  const server = { kind: 'openai', base_url: `http://127.0.0.1:${upstream.port}/v1`, api_key: secretOf('one') };
  const config = configOf(
    Object.fromEntries(
      Object.entries(providers).map(([name, parts]) => [name, { ...server, formats: FORMAT_NAMES, ...parts }]),
    ),
    models.map(({ provider, upstream: model = UPSTREAM_MODEL, ...parts }) =>
      modelOf({ ...(provider === undefined ? {} : { targets: [{ provider, model }] }), ...parts }),
    ),
    settings,
  );
  const gateway = await startedGateway({ config });
  return {
    gateway,
    upstream,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await upstream.close();
    },
  };
}

/** The same for all tests of a file: audited and stopped after them. */
export async function withScene(scene: Scene): Promise<ScriptedScene> {
  const started = await scriptedScene(scene);
  after(async () => {
    await auditClean(started.gateway);
    await started[Symbol.asyncDispose]();
  });
  return started;
}

export interface ScriptedOptions {
  /** How many providers, each with a server of its own, in the order of the targets. */
  readonly servers?: number;
  /** Of every provider. */
  readonly timeouts?: object;
  readonly provider?: object;
  readonly streams?: object;
  readonly routing?: object;
  readonly limits?: object;
  readonly model?: object;
  readonly settings?: object;
  readonly log?: Log;
  readonly observers?: readonly RequestObserver[];
}

export interface ScriptedGateway extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly servers: readonly [ScriptedServer, ...ScriptedServer[]];
  readonly first: ScriptedServer;
  readonly second: ScriptedServer;
}

/** The providers are called `one`, `two` and so on, their keys `sk-one-secret-0123` and so on. */
export const PROVIDER_NAMES = ['one', 'two', 'three', 'four'] as const;

export function secretOf(name: string): string {
  return `sk-${name}-secret-0123`;
}

export async function scriptedGateway(options: ScriptedOptions = {}): Promise<ScriptedGateway> {
  const names = PROVIDER_NAMES.slice(0, options.servers ?? 1);
  const servers = await Promise.all(names.map(() => ScriptedServer.start()));
  const [first, second] = servers;
  if (!first) throw new Error('at least one server is needed');
  const providers = Object.fromEntries(
    names.map((name, index) => [
      name,
      {
        kind: 'openai',
        base_url: `http://127.0.0.1:${servers[index]?.port}/v1`,
        api_key: secretOf(name),
        formats: ['chat', 'responses', 'messages'],
        timeouts: options.timeouts ?? {},
        ...options.provider,
      },
    ]),
  );
  const config = configText({
    providers,
    targets: names.map((provider) => ({ provider, model: UPSTREAM_MODEL })),
    streams: options.streams ?? {},
    routing: { max_attempts: 1, ...options.routing },
    limits: options.limits ?? {},
    model: options.model ?? {},
    settings: options.settings ?? {},
  });
  const { log = NO_LOG, observers = [] } = options;
  const gateway = await startedGateway({ config, log, observers });
  return {
    gateway,
    servers: [first, ...servers.slice(1)],
    first,
    second: second ?? first,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** The client's end of one request; the response is read as it comes, and can be left unread. */
export class ClientStream {
  readonly #request: ClientRequest;
  /** Resolves with the headers. */
  readonly begun: Promise<IncomingMessage>;
  /** Everything, once the response has ended, whether properly or not. */
  readonly ended: Promise<{ readonly text: string; readonly complete: boolean }>;
  #text = '';
  #over = false;
  readonly #watchers = new Set<() => void>();

  constructor(key: CreatedKey, format: Format, body: object, headers: Record<string, string> = {}) {
    this.#request = httpRequest(key.origin + SPEECH[format].path, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key.key}`, ...headers },
    });
    this.begun = new Promise((resolve, reject) => {
      this.#request.on('response', resolve);
      this.#request.on('error', reject);
    });
    // A client that closes before the headers has nobody waiting for them.
    this.begun.catch(() => {});
    this.ended = this.begun.then(
      (response) =>
        new Promise((resolve) => {
          response.on('error', () => {});
          response.on('close', () => {
            this.#over = true;
            for (const watcher of [...this.#watchers]) watcher();
            resolve({ text: this.#text, complete: response.complete });
          });
        }),
    );
    this.ended.catch(() => {});
    this.#request.end(JSON.stringify(body));
  }

  /** Begins to read. */
  read(): this {
    void this.begun.then(
      (response) => {
        response.on('data', (chunk: Buffer) => {
          this.#text += chunk.toString('latin1');
          for (const watcher of [...this.#watchers]) watcher();
        });
      },
      () => {},
    );
    return this;
  }

  /** What has arrived, as Latin-1. */
  get text(): string {
    return this.#text;
  }

  /** Resolves when what has arrived fits. */
  async until(wanted: RegExp | ((text: string) => boolean)): Promise<string> {
    const fits = wanted instanceof RegExp ? (text: string) => wanted.test(text) : wanted;
    await this.begun;
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        if (fits(this.#text)) resolve(this.#text);
        else if (this.#over) reject(new Error(`the response ended without ${wanted}: ${this.#text.slice(-2_000)}`));
        else return;
        this.#watchers.delete(watch);
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  close(): void {
    this.#request.destroy();
  }
}

/** A stream that is read from the beginning. */
export function streamed(key: CreatedKey, format: Format, extra: object = {}): ClientStream {
  return new ClientStream(key, format, SPEECH[format].request({ stream: true, ...extra })).read();
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** One request, read to its end. */
export async function ask(key: CreatedKey, format: Format, extra: object = {}): Promise<Answer> {
  const client = new ClientStream(key, format, SPEECH[format].request(extra)).read();
  const response = await client.begun;
  const { text } = await client.ended;
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/**
 * For what must have begun when a time limit ends it: `attempt` is false where even the beginning took longer, as on a busy
 * machine, and is made again with the next limit.
 */
export async function withinTime(
  limits: readonly number[],
  attempt: (seconds: number) => Promise<boolean>,
): Promise<void> {
  for (const seconds of limits) if (await attempt(seconds)) return;
  assert.fail(`it never began within ${limits.at(-1)} s`);
}

/** Status, code and message of an answer that must be an error. */
export function errorOf({ status, text }: Answer): { status: number; code: string; message: string } {
  const { error } = JSON.parse(text) as { error: { code: string; message: string } };
  return { status, code: error.code, message: error.message };
}

/** The key's account once nothing of it is held any more; the books must add up then. */
export async function settled(gateway: StartedGateway, key: CreatedKey): Promise<KeyView> {
  const view = await accountWhen(gateway, key, ({ live_holds }) => live_holds === 0);
  await auditClean(gateway);
  return view;
}

export async function assertUncharged(gateway: StartedGateway, key: CreatedKey): Promise<void> {
  const { used, reserved, requests } = await settled(gateway, key);
  assert.deepEqual({ used, reserved, requests }, { used: 0, reserved: 0, requests: 0 });
}
