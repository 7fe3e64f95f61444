/** The store failed: nothing is known about the operation, which can be sent again. */
export class StoreError extends Error {
  override name = 'StoreError';
}

/** Another process has the store open for itself. */
export class StoreLockedError extends StoreError {
  override name = 'StoreLockedError';
}

/** The store was written by a newer release than this one. */
export class StoreVersionError extends StoreError {
  override name = 'StoreVersionError';
}

export type StoreErrorName = 'StoreError' | 'StoreLockedError' | 'StoreVersionError';

/** An error of the store by its name, as it comes back from another thread. */
export function storeError(name: StoreErrorName, message: string): StoreError {
  if (name === 'StoreLockedError') return new StoreLockedError(message);
  if (name === 'StoreVersionError') return new StoreVersionError(message);
  return new StoreError(message);
}

export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(error instanceof Error ? error.message : String(error), { cause: error });
}
