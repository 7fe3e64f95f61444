/** What takes long to make and is always the same is kept beside the packages, for all test files and the next run. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const CACHE = resolve(import.meta.dirname, '../../node_modules/.cache');

/** Its place in the cache; another one for other contents of what decides about it. */
export function keptPath(name: string, decidedBy: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of decidedBy) hash.update(part);
  return resolve(CACHE, name, hash.digest('hex').slice(0, 16));
}

/** A copy of this file or folder; whoever finds it finds all of it, also where several processes keep it at once. */
export function keepCopy(source: string, kept: string): void {
  const draft = `${kept}-${process.pid}`;
  mkdirSync(dirname(kept), { recursive: true });
  cpSync(source, draft, { recursive: true });
  try {
    renameSync(draft, kept);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(kept)) throw error;
  }
}
