/** The lock of a data folder, for commands that must be alone with it. */

import { storeFile } from '../../admin/data-folder.ts';
import { AdminError } from '../../admin/error.ts';
import { takeLock } from '../../ledger/sqlite/database.ts';
import { StoreLockedError } from '../../storage/errors.ts';

export function lockOf(dataDir: string): Disposable {
  try {
    const lock = takeLock(storeFile(dataDir));
    return { [Symbol.dispose]: () => lock.close() };
  } catch (error) {
    throw whileRunning(error, dataDir);
  }
}

export function whileRunning(error: unknown, dataDir: string): unknown {
  if (!(error instanceof StoreLockedError)) return error;
  return new AdminError('refused', `a gateway is running on ${dataDir}: stop it first`, { cause: error });
}
