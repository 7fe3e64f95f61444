/** What a gateway keeps on disk, and where. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AdminError } from './api.ts';

/** The embedded store. Beside it SQLite keeps `-wal` and `-shm`. */
export function storeFile(dataDir: string): string {
  return join(dataDir, 'gateway.db');
}

/** Creates the folder, for its owner only. One that exists is left as it is. */
export async function ensureDataDir(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = errorCode(error) ?? String(error);
    throw new AdminError('unavailable', `the data folder ${dataDir} cannot be created: ${reason}`, { cause: error });
  }
}

/** The system's name for what went wrong, e.g. `ENOENT`. */
export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
