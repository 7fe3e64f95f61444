import type { Operation, Result } from './operations.ts';

/** One connection to where the ledger is kept. */
export interface Store {
  /**
   * Applies the operations, those of one key in their order, as one transaction where it can: one result each. Rejects with
   * a `StoreError` when the store failed; then nothing is known about them, and the batch can be sent again.
   */
  apply(batch: readonly Operation[]): Promise<readonly Result[]>;
  /**
   * The outcome of an operation that memory alone can decide, and that may be lost with the process; null for every other
   * one, which then goes through `apply`.
   */
  now?(operation: Operation): Result;
  /**
   * Resolves when what was applied before is safe from a loss of power; without it, `apply` itself waits for that. Rejects
   * with a `StoreError` when the disk failed.
   */
  flushed?(): Promise<void>;
  /** Where operations that may take long go, so that no request waits behind them; without it, they go the same way. */
  readonly background?: Store;
  /** Other processes may have it open too. */
  readonly shared?: boolean;
  close(): Promise<void>;
}
