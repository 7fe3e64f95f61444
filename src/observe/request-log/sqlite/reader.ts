/** The reader of a gateway: it asks a thread of its own, which starts with the first call and never keeps the process alive. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { workerFile } from '../../../lib/worker-file.ts';
import type { RequestLogReader } from '../store.ts';
import type { ThreadAnswer, ThreadTask } from './thread.ts';

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
  #worker: Worker | null = null;
  #waiting: PromiseWithResolvers<unknown>[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const exited = once(worker, 'exit').catch(() => {});
    worker.ref();
    worker.postMessage(null);
    await exited;
  }

  #asking<Op extends ThreadTask['op']>(op: Op): RequestLogReader[Op] {
    return ((...given: unknown[]) => this.#ask({ op, given })) as RequestLogReader[Op];
  }

  #ask(task: ThreadTask): Promise<unknown> {
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
      if (this.#waiting.length === 0) worker.unref();
      if ('failed' in answer) asked?.reject(new Error(answer.failed));
      else asked?.resolve(answer.value);
    });
    let reason = '';
    worker.on('error', (error: Error) => {
      reason = `: ${error.message}`;
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const asked of waiting) asked.reject(new Error(`the thread of the request log has stopped${reason}`));
    });
    return worker;
  }
}
