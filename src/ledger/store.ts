import type { Operation, Result } from './operations.ts';

/** One connection to the ledger's books. */
export interface Store {
  /**
   * Applies the operations in their order, as one transaction: one result each. Rejects with a `StoreError` when the
   * store failed; then none or all of them were applied, and the batch can be sent again.
   */
  apply(batch: readonly Operation[]): Promise<readonly Result[]>;
  close(): Promise<void>;
}
