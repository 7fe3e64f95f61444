/**
 * Group commit: the operations of one turn of the event loop are applied as one batch, one batch at a time; what arrives
 * meanwhile becomes the next batch. Operations that must wait for the next flush anyway are gathered until the running one
 * has ended (see `FlushCoalescer`); where a batch is a round trip, it may wait for those whom the last one answered (see
 * `ArrivalForecast`).
 */
import { asStoreError, StoreError } from '../../storage/errors.ts';
import {
  isOperationFailed,
  type Operation,
  type OperationName,
  type OperationOf,
  type Outcome,
  type Result,
} from '../operations.ts';
import type { Mark } from '../port.ts';
import type { Store } from '../store.ts';
import { ArrivalForecast } from './arrival-forecast.ts';
import { BatchStats } from './batch-stats.ts';
import { alwaysWaitsForDisk, waitsForDisk } from './durability.ts';
import { FlushCoalescer } from './flush-coalescer.ts';

export interface BatcherOptions {
  /** Operations that may wait; beyond them the store counts as failed. */
  readonly queueMax?: number;
  readonly batchMax?: number;
  /** The longest that a mark waits for a batch that is sent anyway. */
  readonly markDelayMs?: number;
  /** Where its batches are counted. */
  readonly stats?: BatchStats;
}

/** Together with `MARK_INTERVAL_MS` less than a second, which is what the death of a process may cost. */
const MARK_DELAY_MS = 100;
/** So many go with one batch, and the next batch follows at once: ten thousand take 0.1 s, in which nobody else is served. */
const MARKS_MAX = 500;
/** The longest that an operation which has to wait for a flush waits for others to share it. */
const GATHER_MS = 4;

interface Waiting {
  readonly operation: Operation;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: StoreError) => void;
}

/**
 * `idle`: nothing will be sent until something else happens (an operation, the end of a flush, the time of a mark).
 * `gathering`: operations wait for others that are expected, at most `GATHER_MS`, or as long as the forecast says.
 * `scheduled`: this turn of the event loop is collected and sent at its end.
 * `inFlight`: the store is applying a batch.
 * `closing`: what waits is still sent; nothing more is accepted.
 */
type State = 'idle' | 'gathering' | 'scheduled' | 'inFlight' | 'closing';

export class Batcher {
  readonly #store: Store;
  readonly #queueMax: number;
  readonly #batchMax: number;
  readonly #markDelayMs: number;
  readonly #stats: BatchStats;
  readonly #coalescer = new FlushCoalescer();
  readonly #forecast = new ArrivalForecast();
  #state: State = 'idle';
  #queue: Waiting[] = [];
  /** Holds whose end the store did not take: whoever ends them sends it again until it has. */
  readonly #unended = new Set<string>();
  /** Whether something waits that does not need a flush, so that nothing is gained by waiting for one. */
  #urgent = false;
  #flushes = 0;
  /** The newest mark of each hold. */
  readonly #marks = new Map<string, Mark>();
  /** Whether the last batch has left some of them: their time has come. */
  #marksLeft = false;
  #markNumber = 0;
  #gatherTimer: NodeJS.Timeout | null = null;
  #markTimer: NodeJS.Timeout | null = null;
  #lastBatch: Promise<void> = Promise.resolve();
  #closed: Promise<void> | null = null;
  readonly #onTurn = (): void => {
    if (this.#state === 'gathering' || this.#state === 'scheduled') this.#send();
  };

  constructor(store: Store, options: BatcherOptions = {}) {
    this.#store = store;
    this.#stats = options.stats ?? new BatchStats();
    this.#queueMax = options.queueMax ?? 100_000;
    this.#batchMax = options.batchMax ?? 1_000;
    this.#markDelayMs = options.markDelayMs ?? MARK_DELAY_MS;
  }

  /** Operations that wait to be sent, and those that failed until they are taken, each once. */
  get backlog(): number {
    if (this.#unended.size === 0) return this.#queue.length;
    const fresh = this.#queue.filter(({ operation }) => !this.#unended.has(endedHold(operation) ?? ''));
    return this.#unended.size + fresh.length;
  }

  /** The outcome where memory alone can decide; otherwise null, and nothing was done. */
  now<N extends OperationName>(operation: OperationOf<N> & Operation): Outcome<N> | null {
    if (this.#state === 'closing') return null;
    const outcome = this.#store.now?.(operation) ?? null;
    this.#coalescer.onResult(operation, outcome);
    return outcome as Outcome<N> | null;
  }

  run<N extends OperationName>(operation: OperationOf<N> & Operation): Promise<Outcome<N>> {
    if (this.#state === 'closing') return Promise.reject(new StoreError('the store is closed'));
    if (this.#queue.length >= this.#queueMax) {
      this.#keepEnd(operation);
      return Promise.reject(new StoreError(`${this.#queueMax} operations are waiting for the store already`));
    }
    return new Promise<Outcome<N>>((resolve, reject) => {
      // A store answers operation by operation, so this outcome is the one of this operation's name.
      this.#queue.push({ operation, resolve: resolve as Waiting['resolve'], reject });
      if (!alwaysWaitsForDisk(operation)) this.#urgent = true;
      if (this.#marks.size > 0) this.#dropMark(operation);
      this.#coalescer.onSubmit(operation);
      this.#schedule(this.#coalescer.allArrived);
    });
  }

  mark(mark: Mark): void {
    if (this.#state === 'closing') return;
    this.#marks.set(mark.holdId, mark);
    this.#startMarkTimer();
  }

  /** What a hold that ends has marked no longer matters. */
  #dropMark(operation: Operation): void {
    const holdId = endedHold(operation);
    if (holdId !== null) this.#marks.delete(holdId);
  }

  #keepEnd(operation: Operation): void {
    const holdId = endedHold(operation);
    if (holdId !== null) this.#unended.add(holdId);
  }

  /** Sends what waits, then closes the store. */
  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  async #finish(): Promise<void> {
    this.#state = 'closing';
    if (this.#gatherTimer !== null) clearTimeout(this.#gatherTimer);
    if (this.#markTimer !== null) clearTimeout(this.#markTimer);
    await this.#lastBatch;
    while (this.#queue.length > 0 || this.#marks.size > 0) {
      this.#send();
      await this.#lastBatch;
    }
    await this.#store.close();
  }

  #startMarkTimer(): void {
    if (this.#markTimer !== null || this.#state === 'closing') return;
    this.#markTimer = setTimeout(() => {
      this.#markTimer = null;
      if (this.#marks.size === 0) return;
      this.#urgent = true;
      this.#schedule(true);
    }, this.#markDelayMs).unref();
  }

  /** `allArrived`: nobody is known who would join those that wait. */
  #schedule(allArrived: boolean): void {
    if (this.#state !== 'idle' && this.#state !== 'gathering') return;
    let waitMs = this.#forecast.waitMs(this.#queue.length, performance.now());
    if (!this.#urgent) {
      // The end of the flush schedules them.
      if (this.#flushes > 0) return;
      if (!allArrived && this.#coalescer.worthWaiting) waitMs = GATHER_MS;
    }
    if (waitMs > 0) {
      if (this.#state === 'idle') this.#gatherTimer = setTimeout(this.#onTurn, waitMs);
      this.#state = 'gathering';
      return;
    }
    if (this.#gatherTimer !== null) clearTimeout(this.#gatherTimer);
    this.#gatherTimer = null;
    this.#state = 'scheduled';
    setImmediate(this.#onTurn);
  }

  #send(): void {
    if (this.#queue.length === 0 && this.#marks.size === 0) {
      this.#become('idle');
      return;
    }
    this.#become('inFlight');
    const sent = this.#queue.length <= this.#batchMax ? this.#queue : this.#queue.slice(0, this.#batchMax);
    this.#queue = this.#queue.slice(sent.length);
    this.#forecast.onSend(sent.length);
    this.#urgent = this.#queue.length > 0;
    const marks = this.#takeMarks();
    const batch = sent.map((waiting) => waiting.operation);
    if (marks.length > 0) batch.push({ op: 'mark', number: ++this.#markNumber, marks });
    this.#lastBatch = this.#apply(batch, sent, marks);
  }

  #takeMarks(): readonly Mark[] {
    const marks: Mark[] = [];
    for (const [holdId, mark] of this.#marks) {
      if (marks.length === MARKS_MAX) break;
      marks.push(mark);
      this.#marks.delete(holdId);
    }
    this.#marksLeft = this.#marks.size > 0;
    return marks;
  }

  async #apply(batch: readonly Operation[], sent: readonly Waiting[], marks: readonly Mark[]): Promise<void> {
    const sentAt = performance.now();
    this.#stats.sent(batch.length);
    try {
      this.#answer(sent, await this.#store.apply(batch), sentAt);
    } catch (error) {
      const failure = asStoreError(error);
      this.#stats.failed(batch.length);
      for (const waiting of sent) this.#reject(waiting, failure);
      this.#keepMarks(marks);
    }
    this.#become('idle');
    // A mark whose time came while the batch was in flight, or before it.
    if (this.#marks.size > 0 && (this.#markTimer === null || this.#marksLeft)) this.#urgent = true;
    else if (this.#queue.length === 0) return;
    this.#schedule(this.#coalescer.allArrived);
  }

  #become(state: State): void {
    if (this.#state !== 'closing') this.#state = state;
  }

  /** Outcomes that a loss of power must not undo are given when they are on the disk, all others at once. */
  #answer(sent: readonly Waiting[], results: readonly Result[], sentAt: number): void {
    const store = this.#store;
    const later: [Waiting, Result][] = [];
    sent.forEach((waiting, index) => {
      const result = results[index];
      if (result === undefined) {
        this.#reject(waiting, new StoreError('the store gave no result'));
        return;
      }
      this.#coalescer.onResult(waiting.operation, result);
      if (store.flushed !== undefined && waitsForDisk(waiting.operation, result)) later.push([waiting, result]);
      else this.#settle(waiting, result);
    });
    if (store.flushed === undefined) {
      // `apply` has waited for the disk.
      this.#stats.durable(sentAt);
      this.#forecast.onAnswered(sent.length, this.#queue.length, sentAt, performance.now());
      return;
    }
    if (later.length === 0) return;
    this.#flushes++;
    this.#coalescer.onFlush(later.length);
    store
      .flushed()
      .then(
        () => {
          this.#stats.durable(sentAt);
          for (const [waiting, result] of later) this.#settle(waiting, result);
        },
        (error: unknown) => {
          this.#stats.failed(later.length);
          for (const [waiting] of later) this.#reject(waiting, asStoreError(error));
        },
      )
      .finally(() => {
        this.#flushes--;
        // Those who have just been answered may submit more: what gathered meanwhile waits for them too.
        if (this.#queue.length > 0) this.#schedule(false);
      });
  }

  #settle(waiting: Waiting, result: Result): void {
    if (isOperationFailed(result)) {
      this.#reject(waiting, new StoreError(result.message));
      return;
    }
    if (this.#unended.size > 0) this.#unended.delete(endedHold(waiting.operation) ?? '');
    waiting.resolve(result);
  }

  #reject(waiting: Waiting, failure: StoreError): void {
    this.#keepEnd(waiting.operation);
    waiting.reject(failure);
  }

  /** Marks of a failed batch go with a later one, unless a newer one is there; the others wait for that one as well. */
  #keepMarks(marks: readonly Mark[]): void {
    this.#marksLeft = false;
    if (this.#state === 'closing') return;
    for (const mark of marks) if (!this.#marks.has(mark.holdId)) this.#marks.set(mark.holdId, mark);
    this.#startMarkTimer();
  }
}

/** The hold that this operation ends. */
function endedHold(operation: Operation): string | null {
  if (operation.op === 'settle') return operation.request.holdId;
  return operation.op === 'void' ? operation.holdId : null;
}
