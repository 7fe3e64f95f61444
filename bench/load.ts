/**
 * The load generator, a process of its own that takes one job at a time over IPC. Closed loop: `concurrency` slots with
 * one kept-alive connection each, a fixed number of requests, every answer checked.
 */
import { Client, type Dispatcher } from 'undici';
import { MARK } from './requests.ts';
import { percentile } from './stats.ts';

export interface Job {
  readonly origin: string;
  readonly path: string;
  /** Slot i sends set i modulo the number of sets: several callers at once. */
  readonly headerSets: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  readonly concurrency: number;
  readonly requests: number;
  readonly marks: number;
  readonly terminal: string | null;
  /** Close every second stream after this many marks; null to let all of them finish. */
  readonly cutAfterMarks: number | null;
  /** The start of a fresh Idempotency-Key for every request; null sends none. */
  readonly idempotencyPrefix: string | null;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
}

export interface LoadResult {
  readonly completed: number;
  readonly completedBySet: readonly number[];
  readonly cut: number;
  readonly failed: number;
  readonly marks: number;
  readonly marksExpected: number;
  readonly durationMs: number;
  readonly latencyMs: Spread;
  readonly firstByteMs: Spread;
  /** The first few failures, in words. */
  readonly failures: readonly string[];
}

/** `open` comes once, when as many streams as there are slots have begun to answer. */
export type LoadMessage = { readonly kind: 'open' } | { readonly kind: 'result'; readonly result: LoadResult };

/** Connections under way at once; more would overflow the listen queue of a server under test. */
const OPENING_MAX = 128;
const TAIL_BYTES = 128;
const FAILURES_KEPT = 5;
const MARK_BYTE = MARK.charCodeAt(0);

class Run {
  readonly job: Job;
  readonly body: Buffer;
  readonly latencies: number[] = [];
  readonly firstBytes: number[] = [];
  readonly failures: string[] = [];
  readonly completedBySet: number[];
  completed = 0;
  cut = 0;
  failed = 0;
  marks = 0;
  marksExpected = 0;
  #issued = 0;
  #ended = 0;
  #slotsStarted = 0;
  #opening = 0;
  #answering = 0;
  readonly #clients: Client[] = [];
  readonly #onOpen: () => void;
  readonly #done = Promise.withResolvers<void>();

  constructor(job: Job, onOpen: () => void) {
    this.job = job;
    this.body = Buffer.from(job.body);
    this.completedBySet = job.headerSets.map(() => 0);
    this.#onOpen = onOpen;
  }

  async execute(): Promise<LoadResult> {
    const startMs = performance.now();
    this.#startSlots();
    await this.#done.promise;
    const durationMs = performance.now() - startMs;
    await Promise.all(this.#clients.map((client) => client.destroy()));
    return {
      completed: this.completed,
      completedBySet: this.completedBySet,
      cut: this.cut,
      failed: this.failed,
      marks: this.marks,
      marksExpected: this.marksExpected,
      durationMs,
      latencyMs: spread(this.latencies),
      firstByteMs: spread(this.firstBytes),
      failures: this.failures,
    };
  }

  /** A slot's first answer has begun: there is room for another slot to connect. */
  slotOpened(): void {
    this.#opening--;
    this.#answering++;
    if (this.#answering === Math.min(this.job.concurrency, this.job.requests)) this.#onOpen();
    this.#startSlots();
  }

  slotNeverOpened(): void {
    this.#opening--;
    this.#startSlots();
  }

  fail(why: string): void {
    this.failed++;
    if (this.failures.length < FAILURES_KEPT) this.failures.push(why);
  }

  next(slot: number, client: Client, isSlotsFirst: boolean): void {
    if (this.#issued >= this.job.requests) return;
    const index = this.#issued++;
    const headers = this.job.headerSets[slot % this.job.headerSets.length] ?? {};
    const { idempotencyPrefix } = this.job;
    client.dispatch(
      {
        path: this.job.path,
        method: 'POST',
        headers:
          idempotencyPrefix === null ? headers : { ...headers, 'idempotency-key': `${idempotencyPrefix}${index}` },
        body: this.body,
      },
      new Call(this, { slot, client, index, isSlotsFirst }),
    );
  }

  requestEnded(slot: number, client: Client): void {
    this.#ended++;
    if (this.#ended === this.job.requests) this.#done.resolve();
    else this.next(slot, client, false);
  }

  #startSlots(): void {
    const slots = Math.min(this.job.concurrency, this.job.requests);
    while (this.#slotsStarted < slots && this.#opening < OPENING_MAX) {
      this.#opening++;
      const slot = this.#slotsStarted++;
      const client = new Client(this.job.origin, { pipelining: 1, keepAliveTimeout: 60_000, allowH2: false });
      this.#clients.push(client);
      this.next(slot, client, true);
    }
  }
}

/** Which request this is, and on whose connection. */
interface Place {
  readonly slot: number;
  readonly client: Client;
  readonly index: number;
  readonly isSlotsFirst: boolean;
}

class Call implements Dispatcher.DispatchHandler {
  readonly #run: Run;
  readonly #place: Place;
  readonly #startMs = performance.now();
  #status = 0;
  #firstByteMs = 0;
  #marks = 0;
  #tail: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(run: Run, place: Place) {
    this.#run = run;
    this.#place = place;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#firstByteMs === 0) {
      this.#firstByteMs = performance.now();
      if (this.#place.isSlotsFirst) this.#run.slotOpened();
    }
    for (let at = chunk.indexOf(MARK_BYTE); at !== -1; at = chunk.indexOf(MARK_BYTE, at + 1)) this.#marks++;
    const { terminal, cutAfterMarks } = this.#run.job;
    if (terminal !== null || this.#status !== 200) this.#keepTail(chunk);
    if (cutAfterMarks !== null && this.#place.index % 2 === 1 && this.#marks >= cutAfterMarks) {
      this.#end('cut');
      controller.abort(new Error('cut on purpose'));
    }
  }

  onResponseEnd(): void {
    const { terminal, marks } = this.#run.job;
    if (this.#status !== 200) this.#end(`status ${this.#status}: ${this.#tail.toString()}`);
    else if (this.#marks !== marks) this.#end(`${this.#marks} of ${marks} frames arrived`);
    else if (terminal !== null && !this.#tail.includes(terminal)) this.#end(`the stream ended without ${terminal}`);
    else this.#end('completed');
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end(`${error.name}: ${error.message}`);
  }

  #keepTail(chunk: Buffer): void {
    this.#tail = (chunk.length >= TAIL_BYTES ? chunk : Buffer.concat([this.#tail, chunk])).subarray(-TAIL_BYTES);
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const run = this.#run;
    const endMs = performance.now();
    if (how === 'cut') {
      run.cut++;
    } else {
      run.marksExpected += run.job.marks;
      run.marks += this.#marks;
      if (how === 'completed') {
        run.completed++;
        const set = this.#place.slot % run.completedBySet.length;
        run.completedBySet[set] = (run.completedBySet[set] ?? 0) + 1;
        run.latencies.push(endMs - this.#startMs);
        run.firstBytes.push(this.#firstByteMs - this.#startMs);
      } else {
        run.fail(how);
        if (this.#place.isSlotsFirst && this.#firstByteMs === 0) run.slotNeverOpened();
      }
    }
    // Undici forbids a new dispatch from inside an abort or an error; the next turn is soon enough.
    if (how === 'completed') run.requestEnded(this.#place.slot, this.#place.client);
    else setImmediate(() => run.requestEnded(this.#place.slot, this.#place.client));
  }
}

function spread(values: readonly number[]): Spread {
  return { p50: percentile(values, 50), p99: percentile(values, 99) };
}

const send = (message: LoadMessage): void => {
  process.send?.(message);
};

process.on('message', (job: Job) => {
  new Run(job, () => send({ kind: 'open' })).execute().then((result) => send({ kind: 'result', result }));
});
process.on('disconnect', () => process.exit(0));
