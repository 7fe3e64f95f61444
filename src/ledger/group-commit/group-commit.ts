/** The queues of one store: what requests wait for, the operator's changes, and reports, none of them behind another. */
import { OPERATIONS, type Operation, type OperationName, type OperationOf, type Outcome } from '../operations.ts';
import type { Mark } from '../port.ts';
import type { Store } from '../store.ts';
import { BatchStats, type LedgerStats } from './batch-stats.ts';
import { Batcher, type BatcherOptions } from './batcher.ts';

/** What takes operations one by one, whatever is done with them before. */
export type OperationRunner = Pick<GroupCommit, keyof GroupCommit>;

export class GroupCommit {
  readonly #stats: BatchStats;
  readonly #requests: Batcher;
  readonly #changes: Batcher;
  readonly #reports: Batcher;

  constructor(store: Store, given: BatcherOptions = {}) {
    this.#stats = given.stats ?? new BatchStats();
    const options = { ...given, stats: this.#stats };
    this.#requests = new Batcher(store, options);
    this.#changes = store.background === undefined ? this.#requests : new Batcher(store.background, options);
    // Reports commit nothing, and take as long as they take.
    this.#reports = store.background === undefined ? this.#requests : new Batcher(store.background, given);
  }

  /** The outcome where memory alone can decide; otherwise null, and nothing was done. */
  now<N extends OperationName>(operation: OperationOf<N> & Operation): Outcome<N> | null {
    return this.#requests.now(operation);
  }

  /** Rejects with a `StoreError` when the store failed; then nothing is known about the operation. */
  run<N extends OperationName>(operation: OperationOf<N> & Operation): Promise<Outcome<N>> {
    return this.#queueOf(operation).run(operation);
  }

  /** Rides on a batch that is sent anyway, or soon goes by itself. The end of its hold makes it void. */
  mark(mark: Mark): void {
    this.#requests.mark(mark);
  }

  async stats(): Promise<LedgerStats> {
    const { batchOperations, commitSeconds, failedBatches, failedOperations } = this.#stats;
    const queues = new Set([this.#requests, this.#changes, this.#reports]);
    return {
      batchOperations: { counts: [...batchOperations.counts], sum: batchOperations.sum },
      commitSeconds: { counts: [...commitSeconds.counts], sum: commitSeconds.sum },
      failedBatches,
      failedOperations,
      backlog: [...queues].reduce((sum, queue) => sum + queue.backlog, 0),
    };
  }

  /** Sends what waits, then closes. */
  async close(): Promise<void> {
    await Promise.all([this.#changes, this.#reports].map((queue) => (queue === this.#requests ? null : queue.close())));
    await this.#requests.close();
  }

  #queueOf({ op }: Operation): Batcher {
    switch (OPERATIONS[op].queue) {
      case 'hot':
        return this.#requests;
      case 'changes':
        return this.#changes;
      case 'reports':
        return this.#reports;
    }
  }
}
