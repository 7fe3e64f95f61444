/** Several worker processes on one port and one PostgreSQL. One that ends by itself is replaced. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Settings } from '../config/config.ts';
import type { Log } from '../core/log.ts';
import { errorCode } from '../lib/error-code.ts';
import { cumulative, merged, type Reading } from '../observe/metrics/reading.ts';
import { worstOf } from './inspect.ts';
import type { CatalogNames, ServeInput, Serving } from './serve.ts';
import { type Method, type WorkerListener, WorkerProcess } from './worker-process.ts';

interface WorkerPoolOptions {
  readonly log: Log;
  /** A worker has taken a changed configuration into use. */
  onReload(): void;
}

/** A worker that does not say within this time whether it is ready is not; nor does a scrape wait for it any longer. */
const ANSWER_WITHIN_MS = 10_000;
/** Before a worker is replaced; twice as long each time, unless the last one has lived for a while. */
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 30_000;
const LIVED_MS = 60_000;
/** Workers of a gateway that was killed a moment ago may still have the port; they end by themselves. */
const PORT_WAIT_MS = 1_000;
const PORT_PAUSE_MS = 50;

export async function serveInWorkers(input: ServeInput, options: WorkerPoolOptions): Promise<Serving> {
  await using reserved = await reservePort(input.settings);
  const { port } = reserved;
  const settings = { ...input.settings, port };
  let names: CatalogNames | null = null;
  const listener: WorkerListener = {
    onCatalog: (fresh) => {
      names = fresh;
    },
    onReload: options.onReload,
  };
  const places: readonly Place[] = Array.from(
    { length: settings.workers },
    (_, index) => new Place(index + 1, { ...input, settings }, listener, options.log),
  );
  const started = await Promise.allSettled(places.map((place) => place.start()));
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await Promise.all(places.map((place) => place.kill()));
    throw failed.reason;
  }
  for (const place of places) place.keep();

  const askEach = <Name extends Method>(method: Name, args: Parameters<Serving[Name]>, withinMs?: number) =>
    places.flatMap(({ worker }) => worker?.ask(method, args, withinMs) ?? []);
  /** Of one that ends meanwhile, none. */
  const answers = async <T>(asked: readonly Promise<T>[]): Promise<readonly T[]> =>
    (await Promise.allSettled(asked)).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  let ending = false;
  const end = (): void => {
    ending = true;
    for (const place of places) place.leave();
  };
  return {
    port,
    catalog: () => {
      if (names === null) throw new TypeError('no worker has told its catalog');
      return names;
    },
    running: async () => (await answers(askEach('running', [], ANSWER_WITHIN_MS))).flat(),
    inspect: async () => worstOf(await Promise.all(askEach('inspect', [], ANSWER_WITHIN_MS))),
    stop: async (requestId) => (await answers(askEach('stop', [requestId], ANSWER_WITHIN_MS))).includes(true),
    takeModelLists: async () => {
      await answers(askEach('takeModelLists', [], ANSWER_WITHIN_MS));
    },
    takeDefinitions: async () => (await Promise.all(askEach('takeDefinitions', [], ANSWER_WITHIN_MS))).flat(),
    ready: async () => {
      if (ending) return false;
      const asked = askEach('ready', [], ANSWER_WITHIN_MS);
      return asked.length > 0 && (await answers(asked)).filter(Boolean).length === asked.length;
    },
    metrics: () => Promise.all(places.map((place) => place.metrics())),
    // One that has ended has nothing left to do.
    preStop: async () => {
      end();
      await answers(askEach('preStop', []));
    },
    drain: async () => {
      end();
      await answers(askEach('drain', []));
    },
    close: async () => {
      end();
      await Promise.all(places.map((place) => place.close()));
    },
  };
}

/** One of the numbers of workers, and whoever has it. */
class Place {
  /** Null while there is none that serves. */
  worker: WorkerProcess | null = null;
  readonly #number: number;
  readonly #input: ServeInput;
  readonly #listener: WorkerListener;
  readonly #log: Log;
  readonly #left = new AbortController();
  /** It may not serve yet. */
  #newest: WorkerProcess | null = null;
  #read: Reading = {};
  /** What those before it have counted, as it was read last: a sum must not become less. */
  #before: Reading = {};
  #kept: Promise<void> = Promise.resolve();

  constructor(number: number, input: ServeInput, listener: WorkerListener, log: Log) {
    this.#number = number;
    this.#input = input;
    this.#listener = listener;
    this.#log = log;
  }

  async start(): Promise<void> {
    const worker = new WorkerProcess(this.#input, this.#listener);
    this.#newest = worker;
    void worker.ended.then(() => {
      if (this.worker === worker) this.worker = null;
    });
    try {
      await worker.listening;
      this.worker = worker;
    } catch (error) {
      await worker.kill();
      throw error;
    }
  }

  /** From now on, a worker that ends is replaced. */
  keep(): void {
    this.#kept = this.#replaceWorkers();
  }

  /** Nobody is replaced any more. */
  leave(): void {
    this.#left.abort();
  }

  async metrics(): Promise<Reading> {
    const { worker } = this;
    if (worker !== null) [this.#read = {}] = await worker.ask('metrics', [], ANSWER_WITHIN_MS);
    return merged([this.#before, worker === null ? {} : this.#read]);
  }

  async close(): Promise<void> {
    // The answer is its end.
    await this.worker?.ask('close', []).catch(() => {});
    await this.kill();
  }

  async kill(): Promise<void> {
    this.leave();
    await this.#newest?.kill();
    await this.#kept;
  }

  async #replaceWorkers(): Promise<void> {
    const { signal } = this.#left;
    let pauseMs = PAUSE_MS;
    while (!signal.aborted) {
      const { worker } = this;
      if (worker !== null) {
        const sinceMs = performance.now();
        const how = await worker.ended;
        if (signal.aborted) return;
        this.#before = merged([this.#before, cumulative(this.#read)]);
        this.#read = {};
        if (performance.now() - sinceMs > LIVED_MS) pauseMs = PAUSE_MS;
        this.#log.error({ worker: this.#number, how }, 'a worker ended by itself; another one takes its place');
      }
      await delay(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = Math.min(PAUSE_MS_MAX, pauseMs * 2);
      await this.start().catch((err: unknown) =>
        this.#log.error({ err, worker: this.#number }, 'a worker could not be started; it is tried again'),
      );
    }
  }
}

/**
 * The port that the workers share. One that was named is bound exclusively first, and released: a second gateway on it
 * would otherwise not be noticed, and both would answer in turns. One that the system chose is kept until the workers
 * listen on it, because another process could be given it meanwhile; nobody has been told of it before.
 */
async function reservePort({ host, port }: Settings): Promise<AsyncDisposable & { readonly port: number }> {
  const listener = createServer();
  const release = (): Promise<void> => new Promise((resolve) => listener.close(() => resolve()));
  for (const untilMs = performance.now() + PORT_WAIT_MS; ; await delay(PORT_PAUSE_MS)) {
    try {
      listener.listen({ host, port, reusePort: port === 0 });
      await once(listener, 'listening');
      break;
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE' || performance.now() > untilMs) throw error;
    }
  }
  const address = listener.address();
  if (port !== 0) await release();
  if (address === null || typeof address === 'string') throw new Error('the public listener has no port');
  return { port: address.port, [Symbol.asyncDispose]: release };
}
