/** The two secrets in the data folder. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../lib/error-code.ts';
import { publishFile } from '../lib/new-file.ts';
import { ensureDataDir, storeFile } from './data-folder.ts';
import { AdminError } from './error.ts';

export const INSTALLATION_FILE = 'installation.secret';
const ADMIN_FILE = 'admin.secret';
const SECRET_BYTES = 32;
const GIVEN_LENGTH_MIN = 32;

/**
 * The secret that keys the digests of API keys. `given` (from the environment) wins over the file: replicas that
 * share a database share it too. Must be called before the store is created: a store without its
 * secret is refused, because none of its keys would work.
 */
export async function installationSecret(dataDir: string, given: string | null): Promise<string> {
  if (given !== null) {
    if (given.length >= GIVEN_LENGTH_MIN) return given;
    throw new AdminError(
      'invalid_input',
      `GATEWAY_SECRET is too short: it must have at least ${GIVEN_LENGTH_MIN} characters`,
    );
  }
  return (
    (await readSecret(dataDir, INSTALLATION_FILE)) ??
    (await createSecret(dataDir, INSTALLATION_FILE, async () => {
      if (!existsSync(storeFile(dataDir))) return;
      throw new AdminError(
        'unavailable',
        `${join(dataDir, INSTALLATION_FILE)} is missing although ${storeFile(dataDir)} exists: restore it from a backup, because no key works without it`,
      );
    }))
  );
}

/** The one in the data folder; null where there is none. */
export function storedInstallationSecret(dataDir: string): Promise<string | null> {
  return readSecret(dataDir, INSTALLATION_FILE);
}

/** The secret that the admin port requires. Deleting the file creates a new one at the next start. */
export async function adminSecret(dataDir: string): Promise<string> {
  return (await readSecret(dataDir, ADMIN_FILE)) ?? (await createSecret(dataDir, ADMIN_FILE, async () => {}));
}

async function readSecret(dataDir: string, name: string): Promise<string | null> {
  const path = join(dataDir, name);
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw new AdminError('unavailable', `${path} cannot be read: ${reason(error)}`, { cause: error });
  }
  if (text.length >= GIVEN_LENGTH_MIN) return text;
  throw new AdminError('unavailable', `${path} is damaged: it must hold at least ${GIVEN_LENGTH_MIN} characters`);
}

/** Atomic, and never replaces a file: two processes that create it at once get the same secret. */
async function createSecret(dataDir: string, name: string, check: () => Promise<void>): Promise<string> {
  await ensureDataDir(dataDir);
  await check();
  const path = join(dataDir, name);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const text = `${randomBytes(SECRET_BYTES).toString('hex')}\n`;
    await writeFile(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    await chmod(draft, 0o600);
    await publishFile(draft, path);
  } catch (error) {
    throw new AdminError('unavailable', `${path} cannot be created: ${reason(error)}`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
  const secret = await readSecret(dataDir, name);
  if (secret === null) throw new AdminError('unavailable', `${path} vanished while it was being created`);
  return secret;
}

function reason(error: unknown): string {
  return errorCode(error) ?? String(error);
}
