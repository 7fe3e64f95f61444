/**
 * Group commit: the operations of one turn of the event loop travel as one batch, one batch at a time, and what arrives
 * meanwhile goes together as the next one. So does what arrives during a flush and has to wait for the next one anyway.
 */

import { asStoreError, StoreError } from '../errors.ts';
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
import { alwaysWaitsForDisk, waitsForDisk } from './durability.ts';
import { FlushCoalescer } from './flush-coalescer.ts';

export interface BatcherOptions {
  /** Operations that may wait; beyond them the store counts as failed. */
  readonly queueMax?: number;
  readonly batchMax?: number;
  /** The longest that a mark waits for a batch that happens anyway. */
  readonly markDelayMs?: number;
}

/** The longest that an operation which has to wait for a flush waits for others to share it. */
const GATHER_MS = 4;

interface Waiting {
  readonly operation: Operation;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: StoreError) => void;
}

export class Batcher {
  readonly #store: Store;
  readonly #queueMax: number;
  readonly #batchMax: number;
  readonly #markDelayMs: number;
  /** The newest mark of each hold. */
  readonly #marks = new Map<string, Mark>();
  #queue: Waiting[] = [];
  /** Whether the queue has something that need not wait for a flush. */
  #pressing = false;
  #flushes = 0;
  readonly #coalescer = new FlushCoalescer();
  #gathering: NodeJS.Timeout | null = null;
  readonly #onTurn = (): void => {
    this.#scheduled = false;
    this.#gathering = null;
    if (this.#flight === null) this.#send();
  };
  #markTimer: NodeJS.Timeout | null = null;
  #scheduled = false;
  #flight: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(store: Store, options: BatcherOptions = {}) {
    this.#store = store;
    this.#queueMax = options.queueMax ?? 100_000;
    this.#batchMax = options.batchMax ?? 1_000;
    this.#markDelayMs = options.markDelayMs ?? 1_000;
  }

  /** The outcome where the store can tell it at once, and nobody has to wait; otherwise null. */
  now<N extends OperationName>(operation: OperationOf<N> & Operation): Outcome<N> | null {
    if (this.#closing !== null) return null;
    const outcome = this.#store.now?.(operation) ?? null;
    this.#coalescer.onResult(operation, outcome);
    return outcome as Outcome<N> | null;
  }

  run<N extends OperationName>(operation: OperationOf<N> & Operation): Promise<Outcome<N>> {
    if (this.#closing !== null) return Promise.reject(new StoreError('the store is closed'));
    if (this.#queue.length >= this.#queueMax) {
      return Promise.reject(new StoreError(`${this.#queueMax} operations are waiting for the store already`));
    }
    return new Promise<Outcome<N>>((resolve, reject) => {
      // A store answers operation by operation, so this outcome is the one of this operation's name.
      this.#queue.push({ operation, resolve: resolve as Waiting['resolve'], reject });
      if (!alwaysWaitsForDisk(operation)) this.#pressing = true;
      this.#coalescer.onSubmit(operation);
      this.#schedule(this.#coalescer.allArrived);
    });
  }

  mark(mark: Mark): void {
    if (this.#closing !== null) return;
    this.#marks.set(mark.holdId, mark);
    this.#startMarkTimer();
  }

  /** The hold is about to end: whatever it had marked no longer matters. */
  dropMark(holdId: string): void {
    if (this.#marks.size > 0) this.#marks.delete(holdId);
  }

  /** Sends what waits, then closes the store. */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    if (this.#markTimer !== null) clearTimeout(this.#markTimer);
    while (this.#flight !== null || this.#queue.length > 0 || this.#marks.size > 0) {
      if (this.#flight === null) this.#send();
      await this.#flight;
    }
    await this.#store.close();
  }

  #startMarkTimer(): void {
    if (this.#markTimer !== null || this.#closing !== null) return;
    this.#markTimer = setTimeout(() => {
      this.#markTimer = null;
      this.#pressing = true;
      if (this.#marks.size > 0) this.#schedule(true);
    }, this.#markDelayMs);
    this.#markTimer.unref();
  }

  /** `complete`: nobody is known who would join those that wait. */
  #schedule(complete: boolean): void {
    if (this.#scheduled || this.#flight !== null) return;
    if (!this.#pressing) {
      if (this.#flushes > 0) return;
      if (!complete && this.#coalescer.worthWaiting) {
        this.#gathering ??= setTimeout(this.#onTurn, GATHER_MS);
        return;
      }
    }
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    this.#gathering = null;
    this.#scheduled = true;
    setImmediate(this.#onTurn);
  }

  #send(): void {
    if (this.#queue.length === 0 && this.#marks.size === 0) return;
    const sent = this.#queue.length <= this.#batchMax ? this.#queue : this.#queue.slice(0, this.#batchMax);
    this.#queue = this.#queue.slice(sent.length);
    this.#pressing = this.#queue.length > 0;
    const marks = [...this.#marks.values()];
    this.#marks.clear();
    const batch = sent.map((waiting) => waiting.operation);
    if (marks.length > 0) batch.push({ op: 'mark', marks });
    this.#flight = this.#apply(batch, sent, marks);
  }

  async #apply(batch: readonly Operation[], sent: readonly Waiting[], marks: readonly Mark[]): Promise<void> {
    try {
      this.#tell(sent, await this.#store.apply(batch));
    } catch (error) {
      const failure = asStoreError(error);
      for (const waiting of sent) waiting.reject(failure);
      this.#keepMarks(marks);
    }
    this.#flight = null;
    if (this.#closing !== null) return;
    // A mark whose time came while the batch was under way.
    if (this.#marks.size > 0 && this.#markTimer === null) this.#pressing = true;
    else if (this.#queue.length === 0) return;
    this.#schedule(this.#coalescer.allArrived);
  }

  /** What a loss of power may not undo is told when it is on the disk; what is pressing does not wait for that. */
  #tell(sent: readonly Waiting[], results: readonly Result[]): void {
    const store = this.#store;
    const later: [Waiting, Result][] = [];
    sent.forEach((waiting, index) => {
      const result = results[index];
      if (result === undefined) {
        waiting.reject(new StoreError('the store gave no result'));
        return;
      }
      this.#coalescer.onResult(waiting.operation, result);
      if (store.flushed !== undefined && waitsForDisk(waiting.operation, result)) later.push([waiting, result]);
      else tell(waiting, result);
    });
    if (later.length === 0 || store.flushed === undefined) return;
    this.#flushes++;
    this.#coalescer.onFlush(later.length);
    store
      .flushed()
      .then(
        () => {
          for (const [waiting, result] of later) tell(waiting, result);
        },
        (error: unknown) => {
          for (const [waiting] of later) waiting.reject(asStoreError(error));
        },
      )
      .finally(() => {
        this.#flushes--;
        // Whoever has just been told may ask for more: those that gathered meanwhile wait for them too.
        if (this.#queue.length > 0) this.#schedule(false);
      });
  }

  /** Marks of a failed batch go with a later one, unless a newer one is there. */
  #keepMarks(marks: readonly Mark[]): void {
    if (this.#closing !== null) return;
    for (const mark of marks) if (!this.#marks.has(mark.holdId)) this.#marks.set(mark.holdId, mark);
    this.#startMarkTimer();
  }
}

function tell(waiting: Waiting, result: Result): void {
  if (isOperationFailed(result)) waiting.reject(new StoreError(result.message));
  else waiting.resolve(result);
}
