/** Files that appear whole, or not at all. */
import { link, open, rename, rm } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/** File systems without hard links say one of these. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** Whether it took the name. A hard link never replaces a file that came there meanwhile; systems without get a rename. */
export async function publishFile(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    await rename(draft, file);
  }
  return true;
}

export async function syncFile(file: string): Promise<void> {
  await using handle = await open(file, 'r+');
  await handle.sync();
}

/** A new name is safe from a loss of power when its folder is. Systems that cannot flush a folder do it by themselves. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    if (process.platform !== 'win32') throw error;
  }
}

/** A database that was not completed, with what is beside it. */
export async function removeDraft(draft: string): Promise<void> {
  for (const suffix of ['', '-journal', '-wal', '-shm', '.lock', '.sealed']) {
    await rm(`${draft}${suffix}`, { force: true });
  }
}
