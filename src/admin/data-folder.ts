/** The files of a gateway and where they are. */
import { existsSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { errorCode } from '../lib/error-code.ts';
import { AdminError } from './error.ts';

/** The embedded store. SQLite adds `-wal` and `-shm` files next to it. */
export function storeFile(dataDir: string): string {
  return join(dataDir, 'gateway.db');
}

/** Operators, their tokens and the audit trail, where the store is embedded. */
export function operatorsFile(dataDir: string): string {
  return join(dataDir, 'operators.db');
}

/** Creates the folder, for its owner only. One that exists is left as it is. */
export async function ensureDataDir(dataDir: string): Promise<void> {
  try {
    await mkdirs(resolve(dataDir));
  } catch (error) {
    const code = errorCode(error);
    const reason = code === 'EEXIST' ? 'there is a file of this name' : (code ?? String(error));
    throw new AdminError('unavailable', `the data folder ${dataDir} cannot be created: ${reason}`, { cause: error });
  }
}

/** One folder at a time: Node's recursive mkdir never ends on a file system that refuses new folders (`/proc`). */
async function mkdirs(path: string): Promise<void> {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) await mkdirs(parent);
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}
