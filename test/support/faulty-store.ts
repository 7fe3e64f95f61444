/** A store that fails when the test says so, in the ways in which stores fail. */

import type { Operation, OperationName, Result } from '../../src/ledger/operations.ts';
import type { Store } from '../../src/ledger/store.ts';
import { StoreError } from '../../src/storage/errors.ts';

export class FaultyStore implements Store {
  readonly #inner: Store;
  readonly #watchers = new Set<(batch: readonly Operation[]) => void>();
  #down = false;
  #lose: OperationName | null = null;

  constructor(inner: Store) {
    this.#inner = inner;
  }

  /** From now on every batch fails before it is applied. */
  goDown(): void {
    this.#down = true;
  }

  comeBack(): void {
    this.#down = false;
  }

  /** The next batch with such an operation is applied, but its acknowledgement is lost. */
  loseNext(op: OperationName): void {
    this.#lose = op;
  }

  /** Resolves when a batch with such an operation has failed, from now on. */
  failed(op: OperationName): Promise<void> {
    return new Promise((resolve) => {
      const watch = (batch: readonly Operation[]): void => {
        if (!batch.some((operation) => operation.op === op)) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
    });
  }

  async apply(batch: readonly Operation[]): Promise<readonly Result[]> {
    if (this.#down) throw this.#failure(batch, 'the store is down');
    const results = await this.#inner.apply(batch).catch((error: unknown) => {
      throw this.#failure(batch, error instanceof Error ? error.message : String(error));
    });
    if (this.#lose === null || !batch.some(({ op }) => op === this.#lose)) return results;
    this.#lose = null;
    throw this.#failure(batch, 'the acknowledgement was lost');
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #failure(batch: readonly Operation[], message: string): StoreError {
    for (const watch of [...this.#watchers]) watch(batch);
    return new StoreError(message);
  }
}
