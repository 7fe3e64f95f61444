/** Several worker threads on one port: all write through the one writer of the embedded store, or each to PostgreSQL itself. */
import { createServer } from 'node:net';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Settings } from '../config/config.ts';
import { ConfigError } from '../config/problem.ts';
import { requestLogOf } from '../config/request-log.ts';
import type { Environment } from '../config/settings.ts';
import { workerFile } from '../lib/worker-file.ts';
import type { CatalogNames, Serving } from './serve.ts';

export interface SharedOptions {
  readonly settings: Settings;
  readonly env: Environment;
  readonly installationSecret: string;
  readonly sandboxUrl: string;
}

export interface WorkerPoolOptions {
  /** A port to the writer of the embedded store, for one more worker; null with PostgreSQL. */
  connect(): MessagePort | null;
  /** A worker has ended by itself. What is left can still be drained; it should not go on serving. */
  onBroken(why: Error): void;
  /** A worker has taken a changed configuration into use. */
  onReload(): void;
}

/** What a worker is started with. */
export interface WorkerInput extends SharedOptions {
  readonly writer: MessagePort | null;
}

/** What a worker reports to its parent. */
export type WorkerReport =
  | { readonly kind: 'catalog'; readonly names: CatalogNames }
  | { readonly kind: 'reloaded' }
  | { readonly kind: 'listening'; readonly secure: boolean }
  | {
      readonly kind: 'failed';
      readonly message: string;
      /** Of the configuration, where that is what failed. */
      readonly problems: readonly string[] | null;
    }
  | { readonly kind: 'drained' };

export type WorkerCommand = 'drain' | 'close';

export async function serveInWorkers(shared: SharedOptions, options: WorkerPoolOptions): Promise<Serving> {
  const port = await freePort(shared.settings);
  const settings = { ...shared.settings, port };
  let names: CatalogNames = { providers: [], models: [], sandbox: false, requestLog: requestLogOf() };
  const workers: ServingWorker[] = [];
  let state: 'starting' | 'serving' | 'ending' = 'starting';
  try {
    for (let number = 1; number <= settings.workers; number++) {
      const worker = new ServingWorker({ ...shared, settings, writer: options.connect() });
      workers.push(worker);
      worker.onCatalog = (fresh) => {
        names = fresh;
      };
      worker.onReload = options.onReload;
      void worker.ended.then((error) => {
        if (state === 'serving') options.onBroken(new Error(`worker ${number} ended by itself`, { cause: error }));
      });
    }
    await Promise.all(workers.map((worker) => worker.waitFor('listening')));
    state = 'serving';
  } catch (error) {
    await Promise.all(workers.map((worker) => worker.terminate()));
    throw error;
  }
  return {
    port,
    secure: workers.every((worker) => worker.secure),
    catalog: () => names,
    // Each worker looks for newer ones by itself.
    takeModelLists: async () => {},
    drain: async () => {
      state = 'ending';
      // One that has ended has nothing left to drain.
      const drained = workers.map((worker) => Promise.race([worker.ended, worker.waitFor('drained')]));
      for (const worker of workers) worker.post('drain');
      await Promise.all(drained);
    },
    close: async () => {
      state = 'ending';
      for (const worker of workers) worker.post('close');
      await Promise.all(workers.map((worker) => worker.ended));
    },
  };
}

class ServingWorker {
  /** Resolves when the worker is gone, with what ended it: null where nothing went wrong. */
  readonly ended: Promise<Error | null>;
  onCatalog: (names: CatalogNames) => void = () => {};
  onReload: () => void = () => {};
  /** Whether its listener has TLS; known when it listens. */
  secure = false;
  readonly #worker: Worker;

  constructor(data: WorkerInput) {
    this.#worker = new Worker(workerFile('worker', import.meta.url), {
      workerData: data,
      transferList: data.writer === null ? [] : [data.writer],
    });
    this.#worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'catalog') this.onCatalog(report.names);
      if (report.kind === 'reloaded') this.onReload();
      if (report.kind === 'listening') this.secure = report.secure;
    });
    this.ended = new Promise((resolve) => {
      let failure: Error | null = null;
      this.#worker.on('error', (error: Error) => {
        failure = error;
      });
      this.#worker.on('exit', (code) => resolve(failure ?? (code === 0 ? null : new Error(`exit code ${code}`))));
    });
  }

  post(command: WorkerCommand): void {
    this.#worker.postMessage(command);
  }

  /** Rejects where the worker fails, or ends without that report. */
  waitFor(kind: WorkerReport['kind']): Promise<void> {
    return new Promise((resolve, reject) => {
      const onReport = (report: WorkerReport): void => {
        if (report.kind === kind) resolve();
        else if (report.kind === 'failed') {
          reject(report.problems === null ? new Error(report.message) : new ConfigError(report.problems));
        } else return;
        this.#worker.off('message', onReport);
      };
      this.#worker.on('message', onReport);
      void this.ended.then((error) => reject(error ?? new Error('a worker ended by itself')));
    });
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}

/**
 * The port, after an exclusive bind: with a shared port a second gateway would otherwise not be noticed, and both would
 * answer in turns.
 */
async function freePort({ host, port }: Settings): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject);
    probe.listen({ host, port }, resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('the public listener has no port');
  return address.port;
}
