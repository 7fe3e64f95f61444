/** A console that is open in a browser, as the gateway sees it: the requests of its pages, by their intervals. */
import { fileURLToPath } from 'node:url';
import { runCli } from './books.ts';

const PROGRAM = fileURLToPath(new URL('../bin/gateway.mjs', import.meta.url));
/** As in console/src/api. */
const USAGE_EVERY_MS = 30_000;
const RUNNING_EVERY_MS = 3_000;
const SERIES = 6;
const ROWS = 300;

type Grouping = 'model' | 'account' | 'key' | 'provider' | 'format';
const PERIODS: readonly (readonly [name: string, step: 'hour' | 'day', hours: number])[] = [
  ['24 hours', 'hour', 24],
  ['30 days', 'day', 30 * 24],
  ['12 months', 'day', 365 * 24],
];

export class OpenConsole {
  readonly #origin: string;
  readonly #cookie: string;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #asked = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  #tail: Promise<number> = Promise.resolve(0);

  private constructor(origin: string, cookie: string) {
    this.#origin = origin;
    this.#cookie = cookie;
  }

  /** Signs in by a link, as people do. */
  static async at(env: Readonly<Record<string, string>>): Promise<OpenConsole> {
    const origin = `http://127.0.0.1:${env.GATEWAY_ADMIN_PORT}`;
    const { stdout } = await runCli(process.execPath, [PROGRAM, 'operators', 'link'], {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...env,
    });
    const [, token] = /#token=(\S+)/.exec(stdout) ?? [];
    const answer = await fetch(`${origin}/admin/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    const [cookie = ''] = answer.headers.getSetCookie().map((text) => text.split(';', 1)[0] ?? '');
    if (!answer.ok || cookie === '')
      throw new Error(`the console cannot sign in: ${answer.status} ${await answer.text()}`);
    return new OpenConsole(origin, cookie);
  }

  /** The overview in one tab, the live view in another. */
  async follow(): Promise<void> {
    this.#every(USAGE_EVERY_MS, () => this.#reports('model', 'day', 30 * 24));
    this.#every(RUNNING_EVERY_MS, () => this.#get('/admin/v1/requests/running'));
    await this.#get('/admin/v1/accounts?limit=1');
    await this.#get('/admin/v1/requests?limit=50');
    const stream = await fetch(`${this.#origin}/admin/v1/requests/stream?newest=20`, {
      headers: { cookie: this.#cookie },
      signal: this.#closed.signal,
    });
    this.#tail = countEvents(stream);
  }

  /** All that it asks for at once, for each period and grouping. */
  overviews(): readonly (readonly [name: string, view: () => Promise<unknown>])[] {
    const groupings: readonly Grouping[] = ['model', 'account', 'key', 'provider', 'format'];
    return PERIODS.flatMap(([period, step, hours]) =>
      groupings.map((by) => {
        const view = () =>
          Promise.all([
            ...['session', 'requests/running'].map((path) => this.#get(`/admin/v1/${path}`)),
            this.#reports(by, step, hours),
          ]);
        return [`by ${by}, ${period}`, view] as const;
      }),
    );
  }

  /** How many requests the live view has shown. */
  async close(): Promise<number> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#asked);
    this.#closed.abort();
    return this.#tail;
  }

  async #reports(by: Grouping, step: 'hour' | 'day', hours: number): Promise<void> {
    const hoursAgo = (count: number): string => new Date(Date.now() - count * 3_600_000).toISOString();
    const since = hoursAgo(hours - 1);
    const groups = by === 'key' ? 'key,label' : by;
    await Promise.all(
      [
        `by=${step},${by}&since=${since}&top=${SERIES}&order=cost`,
        `by=${step}&since=${since}`,
        `by=${groups}&since=${since}&top=${ROWS}&order=cost`,
        `since=${hoursAgo(2 * hours - 1)}&until=${since}`,
      ].map((query) => this.#get(`/admin/v1/usage?${query}`)),
    );
  }

  #every(ms: number, ask: () => Promise<void>): void {
    const once = (): void => {
      const asked = ask().finally(() => this.#asked.delete(asked));
      this.#asked.add(asked);
    };
    once();
    this.#timers.push(setInterval(once, ms));
  }

  async #get(path: string): Promise<void> {
    const answer = await fetch(`${this.#origin}${path}`, { headers: { cookie: this.#cookie } });
    const body = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${body}`);
  }
}

async function countEvents(stream: Response): Promise<number> {
  let events = 0;
  let rest = '';
  try {
    for await (const part of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = `${rest}${part}`.split('\n');
      rest = lines.pop() ?? '';
      events += lines.filter((line) => line.startsWith('event: request')).length;
    }
  } catch {
    // It was closed.
  }
  return events;
}
