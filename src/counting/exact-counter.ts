/**
 * Counts prompts exactly, off the event loop. The worker starts with the first count, never keeps the process alive,
 * and stops when nothing has been counted for a while. A count that cannot be had in time is null: nobody is refused
 * because this is slow.
 */
import { Worker } from 'node:worker_threads';
import { workerFile } from '../lib/worker-file.ts';
import type { ExactCount } from './exact-count.ts';
import type { CountJob } from './worker.ts';

export interface ExactCounterOptions {
  readonly waitMs?: number;
  readonly queueMax?: number;
  /** Text of one prompt, in UTF-16 units; of a longer one only the beginning is counted, which bounds it from below. */
  readonly unitsMax?: number;
  readonly idleMs?: number;
  onProblem(problem: unknown): void;
}

interface Waiting {
  readonly job: CountJob;
  readonly timer: NodeJS.Timeout;
  resolve(counted: ExactCount | null): void;
}

const WAIT_MS = 5_000;
const QUEUE_MAX = 32;
const UNITS_MAX = 8 * 1_024 * 1_024;
const IDLE_MS = 60_000;

export class ExactCounter {
  readonly #options: Required<ExactCounterOptions>;
  readonly #queue: Waiting[] = [];
  #running: Waiting | null = null;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: ExactCounterOptions) {
    this.#options = { waitMs: WAIT_MS, queueMax: QUEUE_MAX, unitsMax: UNITS_MAX, idleMs: IDLE_MS, ...options };
  }

  /** Null when it cannot be had: too much waits already, or it takes too long. */
  count(whole: CountJob): Promise<ExactCount | null> {
    const { queueMax, unitsMax, waitMs } = this.#options;
    if (this.#closed || this.#queue.length >= queueMax) return Promise.resolve(null);
    const job = beginningOf(whole, Math.min(whole.unitsMax, unitsMax));
    return new Promise((resolve) => {
      const waiting: Waiting = { job, resolve, timer: setTimeout(() => this.#late(waiting), waitMs) };
      this.#queue.push(waiting);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#queue.splice(0)) end(waiting, null);
    await this.#stop();
  }

  #next(): void {
    if (this.#running !== null) return;
    const waiting = this.#queue.shift();
    if (waiting === undefined) return;
    this.#running = waiting;
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker ?? this.#start();
    worker.ref();
    worker.postMessage(waiting.job);
  }

  #start(): Worker {
    const worker = new Worker(workerFile('worker', import.meta.url));
    worker.on('message', (counted: ExactCount) => this.#ended(counted));
    worker.on('error', (problem) => {
      this.#options.onProblem(problem);
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#ended(null);
    });
    this.#worker = worker;
    return worker;
  }

  #ended(counted: ExactCount | null): void {
    const waiting = this.#running;
    this.#running = null;
    if (waiting) end(waiting, counted);
    this.#worker?.unref();
    this.#next();
    if (this.#running === null && this.#worker) {
      this.#idle = setTimeout(() => void this.#stop(), this.#options.idleMs).unref();
    }
  }

  /** A worker that counts reads no messages: one that takes too long can only be terminated. */
  #late(waiting: Waiting): void {
    const index = this.#queue.indexOf(waiting);
    if (index >= 0) {
      this.#queue.splice(index, 1);
      end(waiting, null);
      return;
    }
    this.#options.onProblem(new Error(`a prompt could not be counted within ${this.#options.waitMs} ms`));
    void this.#stop();
    this.#next();
  }

  async #stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    const waiting = this.#running;
    this.#worker = null;
    this.#running = null;
    if (waiting) end(waiting, null);
    worker?.removeAllListeners('message');
    await worker?.terminate();
  }
}

function end(waiting: Waiting, counted: ExactCount | null): void {
  clearTimeout(waiting.timer);
  waiting.resolve(counted);
}

/** The job itself where it is within the limit. */
function beginningOf(job: CountJob, unitsMax: number): CountJob {
  let left = unitsMax;
  const cut = (texts: readonly string[]): string[] =>
    texts.map((text) => {
      const kept = text.slice(0, Math.max(0, left));
      left -= text.length;
      return kept;
    });
  const texts = {
    certain: cut(job.texts.certain),
    definitions: cut(job.texts.definitions),
    others: cut(job.texts.others),
  };
  return left >= 0 ? job : { ...job, texts, isBeginning: true };
}
