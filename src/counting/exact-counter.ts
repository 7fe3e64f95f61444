/**
 * Counts prompts exactly, off the event loop. The worker starts with the first count, never keeps the process alive,
 * and stops when nothing has been counted for a while. Keys take turns, a slice of a prompt each, so that nobody waits for
 * the giant prompts of another. A count that cannot be had in time is late: it bounds the prompt from below, by what of it
 * has been counted.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../lib/task-thread.ts';
import type { ExactCount, Texts } from './exact-count.ts';
import { type Slice, slicesOf } from './slices.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { CountJob, WorkerJob } from './worker.ts';

interface ExactCounterOptions {
  readonly waitMs?: number;
  /** Prompts of one key that wait while another one of it is counted. */
  readonly queueMax?: number;
  /** Text of one prompt, in UTF-16 units; of a longer one only the beginning is counted, which bounds it from below. */
  readonly unitsMax?: number;
  readonly idleMs?: number;
  onProblem(problem: unknown): void;
}

const WAIT_MS = 5_000;
const QUEUE_MAX = 32;
const UNITS_MAX = 8 * 1_024 * 1_024;
const IDLE_MS = 60_000;
/** The two vocabularies take 110 MB. */
const OLD_MB = 256;
/** Nothing is known but that there is a prompt. */
const UNCOUNTED: ExactCount = { low: 0, likely: 0, high: Number.POSITIVE_INFINITY, late: true };

export class ExactCounter {
  readonly #options: Required<ExactCounterOptions>;
  /** The waiting counts by key, the key whose turn is next first, its oldest count first. None is empty. */
  readonly #turns = new Map<string, Count[]>();
  /** The count that the worker makes now; it may have been given up meanwhile. */
  #running: Count | null = null;
  #runningSinceMs = 0;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: ExactCounterOptions) {
    this.#options = { waitMs: WAIT_MS, queueMax: QUEUE_MAX, unitsMax: UNITS_MAX, idleMs: IDLE_MS, ...options };
  }

  /** Late at once where too much of this key waits already. */
  count(job: CountJob, keyId: string): Promise<ExactCount> {
    const { queueMax, unitsMax, waitMs } = this.#options;
    const queue = this.#turns.get(keyId) ?? [];
    if (this.#closed || queue.length > queueMax) return Promise.resolve(UNCOUNTED);
    return new Promise((resolve) => {
      const count = new Count(job, Math.min(job.unitsMax, unitsMax), keyId, resolve);
      count.timer = setTimeout(() => this.#late(count), waitMs);
      queue.push(count);
      this.#turns.set(keyId, queue);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const count of [...this.#turns.values()].flat()) this.#end(count, count.soFar());
    await this.#stop();
  }

  #next(): void {
    if (this.#running !== null) return;
    const [queue] = this.#turns.values();
    const [count] = queue ?? [];
    if (count === undefined) return;
    this.#running = count;
    this.#runningSinceMs = performance.now();
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker ?? this.#start();
    worker.ref();
    worker.postMessage(count.nextSlice());
  }

  #start(): Worker {
    const worker = startThread('worker', import.meta.url, null, OLD_MB);
    worker.on('message', (counted: ExactCount) => this.#counted(counted));
    worker.on('error', (problem) => {
      this.#options.onProblem(problem);
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#counted(null);
    });
    this.#worker = worker;
    return worker;
  }

  /** Null: the worker has failed. */
  #counted(counted: ExactCount | null): void {
    const count = this.#running;
    this.#running = null;
    if (count) {
      this.#moveToEnd(count.keyId);
      if (counted === null) this.#end(count, count.soFar());
      else if (count.add(counted)) this.#end(count, count.result());
    }
    this.#worker?.unref();
    this.#next();
    if (this.#running === null && this.#worker) {
      this.#idle = setTimeout(() => void this.#stop(), this.#options.idleMs).unref();
    }
  }

  /** Whoever has had a slice is the last to have another. */
  #moveToEnd(keyId: string): void {
    const queue = this.#turns.get(keyId);
    if (queue === undefined) return;
    this.#turns.delete(keyId);
    this.#turns.set(keyId, queue);
  }

  #late(count: Count): void {
    const { waitMs, onProblem } = this.#options;
    onProblem(new Error(`a prompt could not be counted within ${waitMs} ms`));
    this.#end(count, count.soFar());
    // A worker that counts reads no messages: one that takes this long for a slice can only be terminated.
    if (this.#running === null || performance.now() - this.#runningSinceMs < waitMs / 2) return;
    void this.#stop();
    this.#next();
  }

  #end(count: Count, counted: ExactCount): void {
    clearTimeout(count.timer);
    count.resolve(counted);
    const queue = this.#turns.get(count.keyId) ?? [];
    const index = queue.indexOf(count);
    if (index >= 0) queue.splice(index, 1);
    if (queue.length === 0) this.#turns.delete(count.keyId);
  }

  async #stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    const count = this.#running;
    this.#worker = null;
    this.#running = null;
    if (count) this.#end(count, count.soFar());
    worker?.removeAllListeners('message');
    await worker?.terminate();
  }
}

/** One prompt on its way, slice by slice. */
class Count {
  readonly keyId: string;
  readonly resolve: (counted: ExactCount) => void;
  timer: NodeJS.Timeout | undefined;
  readonly #tokenizer: Tokenizer;
  readonly #slices: readonly Slice[];
  readonly #whole: boolean;
  #done = 0;
  #low = 0;
  #likely = 0;
  #high = 0;

  constructor({ texts, tokenizer }: CountJob, unitsMax: number, keyId: string, resolve: (counted: ExactCount) => void) {
    const { slices, whole } = slicesOf(texts, unitsMax);
    this.keyId = keyId;
    this.resolve = resolve;
    this.#tokenizer = tokenizer;
    this.#slices = slices;
    this.#whole = whole;
  }

  nextSlice(): WorkerJob {
    return { texts: this.#slices[this.#done]?.texts ?? NO_TEXTS, tokenizer: this.#tokenizer };
  }

  /** Whether this was the last slice. */
  add({ low, likely, high }: ExactCount): boolean {
    this.#low += Math.max(0, low - (this.#slices[this.#done]?.cuts ?? 0));
    this.#likely += likely;
    this.#high += high;
    this.#done += 1;
    return this.#done === this.#slices.length;
  }

  /** The count covers the beginning only, where no more had to be counted. */
  result(): ExactCount {
    return { low: this.#low, likely: this.#likely, high: this.#whole ? this.#high : Number.POSITIVE_INFINITY };
  }

  soFar(): ExactCount {
    return { ...UNCOUNTED, low: this.#low, likely: this.#likely };
  }
}

const NO_TEXTS: Texts = { certain: [], definitions: [], others: [] };
