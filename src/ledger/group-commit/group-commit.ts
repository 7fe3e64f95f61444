/** The queues of one store: what requests wait for, the operator's changes, and reports, none of them behind another. */
import type { Operation, OperationName, OperationOf, Outcome } from '../operations.ts';
import type { Mark } from '../port.ts';
import type { OperationRunner, Store } from '../store.ts';
import { BatchStats, type LedgerStats } from './batch-stats.ts';
import { Batcher, type BatcherOptions } from './batcher.ts';

/** The operator's changes, and what a request looks up before it is admitted: no batch of admissions waits for them. */
const CHANGES: ReadonlySet<OperationName> = new Set<OperationName>([
  'getResponse',
  'findChain',
  'findItems',
  'deleteResponse',
  'createKey',
  'createKeys',
  'getKey',
  'expiringKeys',
  'changeKey',
  'addSecret',
  'revokeSecret',
  'addCredit',
  'createAccount',
  'changeAccount',
  'moveAccount',
  'moveKey',
  'joinAccount',
  'addAccountCredit',
  'correct',
  'refund',
  'promotions',
  'getAccount',
]);
/** They look at all keys, so a key can be revoked meanwhile; adding to the rollups waits for no request either. */
const REPORTS: ReadonlySet<OperationName> = new Set<OperationName>([
  'listKeys',
  'keyIds',
  'listAccounts',
  'audit',
  'usageReport',
  'findCharge',
  'statement',
  'rollUp',
]);

export class GroupCommit implements OperationRunner {
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

  now<N extends OperationName>(operation: OperationOf<N> & Operation): Outcome<N> | null {
    return this.#requests.now(operation);
  }

  run<N extends OperationName>(operation: OperationOf<N> & Operation): Promise<Outcome<N>> {
    return this.#queueOf(operation).run(operation);
  }

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

  async close(): Promise<void> {
    await Promise.all([this.#changes, this.#reports].map((queue) => (queue === this.#requests ? null : queue.close())));
    await this.#requests.close();
  }

  #queueOf({ op }: Operation): Batcher {
    if (CHANGES.has(op)) return this.#changes;
    return REPORTS.has(op) ? this.#reports : this.#requests;
  }
}
