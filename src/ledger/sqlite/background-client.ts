/** The store's side of its background thread, which is started when it is first needed. */
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

export class BackgroundWorker {
  readonly #file: string;
  readonly #startThread: StartBackgroundThread;
  #worker: BackgroundThread | null = null;
  #closing = false;
  /** In the order in which they were asked, which is the one in which they are answered. */
  #waiting: PromiseWithResolvers<BackgroundOutcome>[] = [];

  constructor(file: string, startThread: StartBackgroundThread = startWorker) {
    this.#file = file;
    this.#startThread = startThread;
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#waiting.length === 0;
  }

  async do(task: BackgroundTask): Promise<BackgroundOutcome> {
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
    const worker = this.#worker;
    if (worker === null) return;
    const exited = new Promise<void>((resolve) => worker.on('exit', resolve));
    // The answer to an earlier task may still come, and must not let the process end before this has.
    this.#closing = true;
    worker.ref();
    worker.postMessage(null);
    await exited;
  }

  #start(): BackgroundThread {
    const worker = this.#startThread(this.#file);
    worker.on('message', (answer) => {
      const asked = this.#waiting.shift();
      if (this.idle && !this.#closing) worker.unref();
      if ('failed' in answer) asked?.reject(answer.disk ? new DiskError(answer.failed) : new StoreError(answer.failed));
      else asked?.resolve(answer.outcome);
    });
    let reason = '';
    worker.on('error', (error) => {
      reason = `: ${error.message}`;
    });
    worker.on('exit', () => {
      // The next task starts another one.
      if (this.#worker === worker) this.#worker = null;
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
