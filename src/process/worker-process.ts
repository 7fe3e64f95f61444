/** One worker as the primary process sees it: a process of `node:cluster`, and the calls to it. */
import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../config/problem.ts';
import { workerFile } from '../lib/worker-file.ts';
import { type StoreErrorName, storeError } from '../storage/errors.ts';
import type { CatalogNames, ServeInput, Serving } from './serve.ts';

/** What a worker can be asked for. */
export type Method = Exclude<keyof Serving, 'port' | 'catalog'>;

export interface Call {
  readonly id: number;
  readonly method: Method;
  readonly args: readonly unknown[];
}

/** What a worker reports to the primary process. */
export type WorkerReport =
  | { readonly kind: 'catalog'; readonly names: CatalogNames }
  | { readonly kind: 'reloaded' }
  | { readonly kind: 'listening' }
  | {
      readonly kind: 'failed';
      readonly message: string;
      /** Of the configuration, where that is what failed. */
      readonly problems: readonly string[] | null;
      /** Which error of the store it is, where that is what failed. */
      readonly store: StoreErrorName | null;
      /** What else the error says, such as its code. */
      readonly fields: object;
    }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly message: string };

export interface WorkerListener {
  onCatalog(names: CatalogNames): void;
  onReload(): void;
}

export class WorkerProcess {
  /** Rejects where it cannot serve. Its catalog has been told before. */
  readonly listening: Promise<void>;
  /** Resolves when the process is gone, with how it ended. */
  readonly ended: Promise<string>;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #calls = 0;
  #gone: Error | null = null;

  constructor(input: ServeInput, listener: WorkerListener) {
    cluster.setupPrimary({
      exec: fileURLToPath(workerFile('worker', import.meta.url)),
      args: [],
      serialization: 'advanced',
    });
    const worker = cluster.fork();
    this.#worker = worker;
    const listening = Promise.withResolvers<void>();
    this.listening = listening.promise;
    worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'catalog') listener.onCatalog(report.names);
      else if (report.kind === 'reloaded') listener.onReload();
      else if (report.kind === 'listening') listening.resolve();
      else if (report.kind === 'failed') listening.reject(errorOf(report));
      else if (report.kind === 'answer') this.#take(report.id)?.resolve(report.value);
      else this.#take(report.id)?.reject(new Error(report.message));
    });
    const ended = Promise.withResolvers<string>();
    this.ended = ended.promise;
    const end = (how: string): void => {
      this.#gone = new Error(`the worker has ended (${how})`);
      listening.reject(this.#gone);
      for (const { reject } of this.#waiting.values()) reject(this.#gone);
      this.#waiting.clear();
      ended.resolve(how);
    };
    worker.on('exit', (code, signal) => end(signal ? `signal ${signal}` : `exit code ${code}`));
    // Of a process that could not be started, or that could not be told something because it ends.
    worker.on('error', (error) => {
      if (worker.process.pid === undefined) end(error.message);
    });
    worker.send(input);
  }

  /** Rejects where the worker ends without an answer, or takes longer than `withinMs` for it. */
  async ask<Name extends Method>(
    method: Name,
    args: Parameters<Serving[Name]>,
    withinMs: number = Number.POSITIVE_INFINITY,
  ): Promise<Awaited<ReturnType<Serving[Name]>>> {
    if (this.#gone !== null) throw this.#gone;
    this.#calls += 1;
    const id = this.#calls;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#worker.send({ id, method, args } satisfies Call);
    const late = (): void => this.#take(id)?.reject(new Error(`a worker did not answer within ${withinMs} ms`));
    const timer = Number.isFinite(withinMs) ? setTimeout(late, withinMs) : undefined;
    try {
      // The answer with this number is the one of this method.
      return (await answer.promise) as Awaited<ReturnType<Serving[Name]>>;
    } finally {
      clearTimeout(timer);
    }
  }

  async kill(): Promise<void> {
    this.#worker.process.kill('SIGKILL');
    await this.ended;
  }

  #take(id: number): PromiseWithResolvers<unknown> | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

function errorOf({ message, problems, store, fields }: Extract<WorkerReport, { kind: 'failed' }>): Error {
  if (store !== null) return storeError(store, message);
  return problems === null ? Object.assign(new Error(message), fields) : new ConfigError(problems);
}
