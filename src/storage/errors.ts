/** The store failed: nothing is known about the operation, which can be sent again. */
export class StoreError extends Error {
  override name = 'StoreError';
}

/** An operation that must not be done; nothing of it is left. */
export class Refusal extends Error {
  override name = 'Refusal';
}

/** Another process has the store open for itself. */
export class StoreLockedError extends StoreError {
  override name = 'StoreLockedError';
}

/** The store was written by a newer release than this one. */
export class StoreVersionError extends StoreError {
  override name = 'StoreVersionError';
}

/** The disk failed, or the files are gone or damaged: everything fails until another process has opened the store. */
export class StoreBrokenError extends StoreError {
  override name = 'StoreBrokenError';
}

const STORE_ERRORS = { StoreError, StoreLockedError, StoreVersionError, StoreBrokenError };

export type StoreErrorName = keyof typeof STORE_ERRORS;

/** An error of the store by its name, as it comes back from another process. */
export function storeError(name: StoreErrorName, message: string): StoreError {
  return new STORE_ERRORS[name](message);
}

export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(error instanceof Error ? error.message : String(error), { cause: error });
}
