/** Several worker threads on one port: all write through the one writer of the embedded store, or each to PostgreSQL itself. */
import { createServer } from 'node:net';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Settings } from '../config/config.ts';
import { ConfigError } from '../config/problem.ts';
import type { Environment } from '../config/settings.ts';
import { REQUEST_LOG } from '../core/policy.ts';
import type { RunningRequest } from '../core/request-record.ts';
import { workerFile } from '../lib/worker-file.ts';
import type { Reading } from '../observe/metrics/reading.ts';
import { type Inspection, worstOf } from './inspect.ts';
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
  | { readonly kind: 'running'; readonly requests: readonly RunningRequest[] }
  | { readonly kind: 'readiness'; readonly ready: boolean }
  | { readonly kind: 'metrics'; readonly reading: Reading }
  | { readonly kind: 'inspection'; readonly inspection: Inspection }
  | { readonly kind: 'stopped'; readonly found: boolean }
  | { readonly kind: 'pre-stopped' }
  | { readonly kind: 'drained' };

export type WorkerCommand =
  | { readonly stop: string }
  | 'inspect'
  | 'running'
  | 'ready'
  | 'metrics'
  | 'pre-stop'
  | 'drain'
  | 'close';

/** A worker that does not say within this time whether it is ready is not; nor does a scrape wait for it any longer. */
const ANSWER_WITHIN_MS = 10_000;

export async function serveInWorkers(shared: SharedOptions, options: WorkerPoolOptions): Promise<Serving> {
  await using reserved = await reservePort(shared.settings);
  const { port } = reserved;
  const settings = { ...shared.settings, port };
  let names: CatalogNames = {
    providers: [],
    models: [],
    sandbox: false,
    sandboxAlone: false,
    requestLog: REQUEST_LOG.read(),
    alerts: null,
    auditEveryMs: null,
    problems: [],
    certificateEndsAtMs: null,
  };
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
    running: async () => {
      const reports = await Promise.allSettled(
        workers.map((worker) => worker.ask('running', 'running', ANSWER_WITHIN_MS)),
      );
      // Of one that has ended, none.
      return reports.flatMap((report) => (report.status === 'fulfilled' ? report.value.requests : []));
    },
    inspect: async () => {
      const reports = await Promise.all(workers.map((worker) => worker.ask('inspect', 'inspection', ANSWER_WITHIN_MS)));
      return worstOf(reports.map(({ inspection }) => inspection));
    },
    stop: async (requestId) => {
      const asked = workers.map((worker) => worker.ask({ stop: requestId }, 'stopped', ANSWER_WITHIN_MS));
      return (await Promise.allSettled(asked)).some((report) => report.status === 'fulfilled' && report.value.found);
    },
    // Each worker looks for newer ones by itself.
    takeModelLists: async () => {},
    ready: async () => {
      if (state !== 'serving') return false;
      const reports = workers.map((worker) => worker.ask('ready', 'readiness', ANSWER_WITHIN_MS));
      return (await Promise.allSettled(reports)).every((report) => report.status === 'fulfilled' && report.value.ready);
    },
    metrics: async () => {
      const reports = workers.map((worker) => worker.ask('metrics', 'metrics', ANSWER_WITHIN_MS));
      return (await Promise.all(reports)).map(({ reading }) => reading);
    },
    // One that has ended has nothing left to do.
    preStop: async () => {
      state = 'ending';
      await Promise.allSettled(workers.map((worker) => worker.ask('pre-stop', 'pre-stopped')));
    },
    drain: async () => {
      state = 'ending';
      await Promise.allSettled(workers.map((worker) => worker.ask('drain', 'drained')));
    },
    close: async () => {
      state = 'ending';
      for (const worker of workers) worker.post('close');
      await Promise.all(workers.map((worker) => worker.ended));
    },
  };
}

/** Somebody who waits for a report of a worker. */
interface Waiting {
  /** Whether the report was what is waited for, or says that it will not come. */
  take(report: WorkerReport): boolean;
  fail(why: Error): void;
}

function isOf<Kind extends WorkerReport['kind']>(
  report: WorkerReport,
  kind: Kind,
): report is Extract<WorkerReport, { kind: Kind }> {
  return report.kind === kind;
}

class ServingWorker {
  /** Resolves when the worker is gone, with what ended it: null where nothing went wrong. */
  readonly ended: Promise<Error | null>;
  onCatalog: (names: CatalogNames) => void = () => {};
  onReload: () => void = () => {};
  /** Whether its listener has TLS; known when it listens. */
  secure = false;
  readonly #worker: Worker;
  readonly #waiting = new Set<Waiting>();
  #gone: Error | null = null;

  constructor(data: WorkerInput) {
    this.#worker = new Worker(workerFile('worker', import.meta.url), {
      workerData: data,
      transferList: data.writer === null ? [] : [data.writer],
    });
    this.#worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'catalog') this.onCatalog(report.names);
      if (report.kind === 'reloaded') this.onReload();
      if (report.kind === 'listening') this.secure = report.secure;
      for (const waiting of this.#waiting) if (waiting.take(report)) this.#waiting.delete(waiting);
    });
    this.ended = new Promise((resolve) => {
      let failure: Error | null = null;
      this.#worker.on('error', (error: Error) => {
        failure = error;
      });
      this.#worker.on('exit', (code) => {
        const why = failure ?? (code === 0 ? null : new Error(`exit code ${code}`));
        resolve(why);
        this.#gone = why ?? new Error('a worker ended by itself');
        for (const { fail } of this.#waiting) fail(this.#gone);
        this.#waiting.clear();
      });
    });
  }

  post(command: WorkerCommand): void {
    this.#worker.postMessage(command);
  }

  /** Rejects where the worker fails, or ends without that report. */
  waitFor<Kind extends WorkerReport['kind']>(kind: Kind): Promise<Extract<WorkerReport, { kind: Kind }>> {
    if (this.#gone !== null) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      this.#waiting.add({
        take: (report) => {
          if (isOf(report, kind)) resolve(report);
          else if (report.kind === 'failed') {
            reject(report.problems === null ? new Error(report.message) : new ConfigError(report.problems));
          } else return false;
          return true;
        },
        fail: reject,
      });
    });
  }

  /** Where two ask the same at once, both get the first report. Rejects also where it takes longer than `withinMs`. */
  async ask<Kind extends WorkerReport['kind']>(
    command: WorkerCommand,
    kind: Kind,
    withinMs: number | null = null,
  ): Promise<Extract<WorkerReport, { kind: Kind }>> {
    const report = this.waitFor(kind);
    this.post(command);
    if (withinMs === null) return report;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`a worker did not answer within ${withinMs} ms`)), withinMs);
    try {
      return await Promise.race([report, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
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
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen({ host, port, reusePort: port === 0 }, resolve);
  });
  const address = listener.address();
  if (port !== 0) await release();
  if (address === null || typeof address === 'string') throw new Error('the public listener has no port');
  return { port: address.port, [Symbol.asyncDispose]: release };
}
