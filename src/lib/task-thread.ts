/**
 * A thread that performs tasks in the order in which they are asked. It starts with the first of them, ends when nothing has been asked
 * for a while, and keeps the process alive only while it has something to do. Null asks it to end.
 */
import { Worker } from 'node:worker_threads';
import { isObject } from './json.ts';
import { workerFile } from './worker-file.ts';

/** What is used of a thread. */
export interface Thread<Task, Answer> {
  postMessage(task: Task | null): void;
  ref(): void;
  unref(): void;
  on(event: 'message', listener: (answer: Answer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

/**
 * A thread takes 9 MB, and 60 to 80 ms of CPU to start: it outlives the ten seconds between two prunings or rollups of a busy gateway,
 * where one that was started for each took 1.8 % of W1, and not a rest. An idle gateway asks once in ten minutes.
 */
const REST_MS = 30_000;

export class TaskThread<Task, Answer> {
  readonly #startThread: () => Thread<Task, Answer>;
  readonly #stopped: (reason: string) => Error;
  readonly #restMs: number;
  #rest: NodeJS.Timeout | undefined;
  #thread: Thread<Task, Answer> | null = null;
  #closing = false;
  /** Resolves when the threads that were ended have closed their files. */
  #ended: Promise<void> = Promise.resolve();
  /** In the order in which they were asked, which is the one in which they are answered. */
  #waiting: PromiseWithResolvers<Answer>[] = [];

  /** `stopped`: what whoever waits is told when the thread ends by itself. */
  constructor(start: () => Thread<Task, Answer>, stopped: (reason: string) => Error, restMs = REST_MS) {
    this.#startThread = start;
    this.#stopped = stopped;
    this.#restMs = restMs;
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#waiting.length === 0;
  }

  ask(task: Task): Promise<Answer> {
    clearTimeout(this.#rest);
    this.#thread ??= this.#start();
    this.#thread.ref();
    const asked = Promise.withResolvers<Answer>();
    this.#waiting.push(asked);
    this.#thread.postMessage(task);
    return asked.promise;
  }

  /** After what was asked of it. */
  async close(): Promise<void> {
    clearTimeout(this.#rest);
    // The answer to an earlier task may still come, and must not let the process end before this has.
    this.#closing = true;
    if (this.#thread !== null) this.#end(this.#thread);
    await this.#ended;
  }

  #end(thread: Thread<Task, Answer>): void {
    const earlier = this.#ended;
    this.#ended = new Promise<void>((resolve) => thread.on('exit', resolve)).then(() => earlier);
    thread.ref();
    thread.postMessage(null);
  }

  /** What is asked from now on starts another one. */
  #endResting(thread: Thread<Task, Answer>): void {
    this.#thread = null;
    this.#end(thread);
  }

  #start(): Thread<Task, Answer> {
    const thread = this.#startThread();
    thread.on('message', (answer) => {
      const asked = this.#waiting.shift();
      if (this.idle && !this.#closing) {
        thread.unref();
        this.#rest = setTimeout(() => this.#endResting(thread), this.#restMs).unref();
      }
      asked?.resolve(answer);
    });
    let reason = '';
    thread.on('error', (error) => {
      reason = `: ${error.message}`;
    });
    thread.on('exit', () => {
      // One that was ended had answered everything.
      if (this.#thread !== thread) return;
      clearTimeout(this.#rest);
      this.#thread = null;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const asked of waiting) asked.reject(this.#stopped(reason));
    });
    return thread;
  }
}

/**
 * 100,000 charges that were read five times for the rollups left a thread with a heap of 14.5 MB, with 43 where it had no limit and 26.5
 * where it had the launcher's, and took no longer;
 * 30 counts of 32 KB of random letters took 187 MB of the process instead of 249.
 */
const YOUNG_MB = 4;

/** Under `node --watch` a thread also posts the modules that it loads, which would be taken for answers. */
class AnsweringWorker extends Worker {
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    const [message] = values;
    if (event === 'message' && isObject(message) && 'watch:import' in message) return false;
    return super.emit(event, ...values);
  }
}

/** The thread whose entry point has that name beside the module that starts it. */
export function startThread(name: string, moduleUrl: string, workerData: unknown = null, oldMb?: number): Worker {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB, ...(oldMb && { maxOldGenerationSizeMb: oldMb }) };
  return new AnsweringWorker(workerFile(name, moduleUrl), { workerData, resourceLimits });
}
