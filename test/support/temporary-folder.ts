/**
 * Folders that are gone with the process of the test file. Not with the hooks of a test: those run in the order in which they
 * were named, so the folder would go before what still writes to it has ended.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

export function temporaryFolder(name = 'gw'): string {
  // Child processes that a test has left are killed by the hook before this one; the last of them may still be ending.
  if (folders.length === 0) {
    process.once('exit', () => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    });
  }
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  folders.push(folder);
  return folder;
}
