/**
 * The reader of a gateway: it asks a thread of its own, which starts with the first call, ends when nobody has asked for a while, and
 * never keeps the process alive.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { workerFile } from '../../../lib/worker-file.ts';
import type { RequestLogReader } from '../store.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

/**
 * A thread takes 9 MB, and 60 ms of CPU to start: it outlives the ten seconds between two prunings of a busy gateway, where one that
 * was started for each took 1.8 % of W1, and not a rest. An idle gateway asks once in ten minutes.
 */
const REST_MS = 30_000;

export class SqliteRequestReader implements RequestLogReader {
  readonly find = this.#asking('find');
  readonly captured = this.#asking('captured');
  readonly list = this.#asking('list');
  readonly tail = this.#asking('tail');
  readonly forget = this.#asking('forget');
  readonly prune = this.#asking('prune');
  readonly bytes = this.#asking('bytes');
  readonly failures = this.#asking('failures');
  readonly #file: string;
  readonly #restMs: number;
  #worker: Worker | null = null;
  #rest: NodeJS.Timeout | undefined;
  #waiting: PromiseWithResolvers<unknown>[] = [];

  constructor(file: string, restMs = REST_MS) {
    this.#file = file;
    this.#restMs = restMs;
  }

  async close(): Promise<void> {
    clearTimeout(this.#rest);
    const worker = this.#worker;
    if (worker === null) return;
    const exited = once(worker, 'exit').catch(() => {});
    worker.ref();
    worker.postMessage(null);
    await exited;
  }

  /** What is asked from now on goes to another thread. */
  #endWorker(): void {
    this.#worker?.postMessage(null);
    this.#worker = null;
  }

  #asking<Op extends ThreadTask['op']>(op: Op): RequestLogReader[Op] {
    return ((...given: unknown[]) => this.#ask({ op, given })) as RequestLogReader[Op];
  }

  #ask(task: ThreadTask): Promise<unknown> {
    clearTimeout(this.#rest);
    this.#worker ??= this.#start();
    const asked = Promise.withResolvers<unknown>();
    this.#waiting.push(asked);
    this.#worker.ref();
    this.#worker.postMessage(task);
    return asked.promise;
  }

  #start(): Worker {
    const worker = new Worker(workerFile('thread', import.meta.url), { workerData: { file: this.#file } });
    worker.on('message', (answer: ThreadAnswer) => {
      const asked = this.#waiting.shift();
      if (this.#waiting.length === 0) {
        worker.unref();
        this.#rest = setTimeout(() => this.#endWorker(), this.#restMs).unref();
      }
      if ('failed' in answer) asked?.reject(new Error(answer.failed));
      else asked?.resolve(answer.value);
    });
    let reason = '';
    worker.on('error', (error: Error) => {
      reason = `: ${error.message}`;
    });
    worker.on('exit', () => {
      // One that was ended had answered everything.
      if (this.#worker !== worker) return;
      this.#worker = null;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const asked of waiting) asked.reject(new Error(`the thread of the request log has stopped${reason}`));
    });
    return worker;
  }
}
