/** The store's side of its background thread, which is started when it is needed, and ended when nothing has been asked of it for a while. */
import { Worker } from 'node:worker_threads';
import { workerFile } from '../../lib/worker-file.ts';
import { StoreError } from '../../storage/errors.ts';
import type { BackgroundAnswer, BackgroundOutcome, BackgroundTask } from './background-tasks.ts';

/** The disk did not take, or give, what it was asked to. */
export class DiskError extends StoreError {}

/** What is used of the thread. */
export interface BackgroundThread {
  postMessage(task: BackgroundTask | null): void;
  ref(): void;
  unref(): void;
  on(event: 'message', listener: (answer: BackgroundAnswer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

/** A thread for the database in that file. */
export type StartBackgroundThread = (file: string) => BackgroundThread;

/** A thread takes 10 MB, and 80 ms of CPU to start: it outlives the ten seconds between two rollups, and not a rest. */
const REST_MS = 30_000;

export class BackgroundWorker {
  readonly #file: string;
  readonly #startThread: StartBackgroundThread;
  readonly #restMs: number;
  #rest: NodeJS.Timeout | undefined;
  #worker: BackgroundThread | null = null;
  #closing = false;
  /** Resolves when the thread that was ended last has closed its file. */
  #ended: Promise<void> = Promise.resolve();
  /** In the order in which they were asked, which is the one in which they are answered. */
  #waiting: PromiseWithResolvers<BackgroundOutcome>[] = [];

  constructor(file: string, startThread: StartBackgroundThread = startWorker, restMs = REST_MS) {
    this.#file = file;
    this.#startThread = startThread;
    this.#restMs = restMs;
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#waiting.length === 0;
  }

  async do(task: BackgroundTask): Promise<BackgroundOutcome> {
    clearTimeout(this.#rest);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    // The process stays alive while a task is running, and not because of this thread.
    worker.ref();
    const asked = Promise.withResolvers<BackgroundOutcome>();
    this.#waiting.push(asked);
    worker.postMessage(task);
    return asked.promise;
  }

  /** After what was asked of it. */
  async close(): Promise<void> {
    clearTimeout(this.#rest);
    // The answer to an earlier task may still come, and must not let the process end before this has.
    this.#closing = true;
    if (this.#worker !== null) this.#end(this.#worker);
    await this.#ended;
  }

  #end(worker: BackgroundThread): void {
    this.#ended = new Promise((resolve) => worker.on('exit', resolve));
    worker.ref();
    worker.postMessage(null);
  }

  /** What is asked from now on starts another one. */
  #endResting(worker: BackgroundThread): void {
    this.#worker = null;
    this.#end(worker);
  }

  #start(): BackgroundThread {
    const worker = this.#startThread(this.#file);
    worker.on('message', (answer) => {
      const asked = this.#waiting.shift();
      if (this.idle && !this.#closing) {
        worker.unref();
        this.#rest = setTimeout(() => this.#endResting(worker), this.#restMs).unref();
      }
      if ('failed' in answer) asked?.reject(answer.disk ? new DiskError(answer.failed) : new StoreError(answer.failed));
      else asked?.resolve(answer.outcome);
    });
    let reason = '';
    worker.on('error', (error) => {
      reason = `: ${error.message}`;
    });
    worker.on('exit', () => {
      // One that was ended had answered everything.
      if (this.#worker !== worker) return;
      // The next task starts another one.
      this.#worker = null;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const asked of waiting)
        asked.reject(new StoreError(`the background thread of the store has stopped${reason}`));
    });
    return worker;
  }
}

function startWorker(file: string): Worker {
  return new Worker(workerFile('background-thread', import.meta.url), { workerData: { file } });
}
