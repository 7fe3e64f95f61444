/** How the batches of a store do, for whoever watches it. */
import { Histogram, type HistogramCounts } from '../../lib/histogram.ts';

export const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
export const BATCH_OPERATIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000];

export interface LedgerStats {
  /** By the bounds of `BATCH_OPERATIONS`. */
  readonly batchOperations: HistogramCounts;
  /** From sending a batch to its being durable, of those that wait for it, by the bounds of `COMMIT_SECONDS`. */
  readonly commitSeconds: HistogramCounts;
  readonly failedBatches: number;
  readonly failedOperations: number;
  /** Operations that wait to be sent, and ends of holds that failed, until the store has taken them. */
  readonly backlog: number;
}

/** Those of one queue, or of several together. */
export class BatchStats {
  readonly batchOperations = new Histogram(BATCH_OPERATIONS);
  readonly commitSeconds = new Histogram(COMMIT_SECONDS);
  failedBatches = 0;
  failedOperations = 0;

  sent(operations: number): void {
    this.batchOperations.observe(operations);
  }

  durable(sentAt: number): void {
    this.commitSeconds.observe((performance.now() - sentAt) / 1_000);
  }

  failed(operations: number): void {
    this.failedBatches += 1;
    this.failedOperations += operations;
  }
}
