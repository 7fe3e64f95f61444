/** What the machine itself must offer: a data folder that can be written to, and enough open files. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { attention, type Check, ok, skipped } from './report.ts';

/** An open stream takes two: the client's connection and the provider's. */
const OPEN_FILES_MIN = 4_096;

export async function examineFolder(folder: string): Promise<Check> {
  if (!existsSync(folder)) return examineMissing(folder);
  const file = join(folder, `.doctor-${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(file, 'x', { flag: 'wx', mode: 0o600 });
    return ok(`${folder} can be written to`);
  } catch (error) {
    return attention(`${folder} cannot be written to (${codeOf(error)})`);
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
}

async function examineMissing(folder: string): Promise<Check> {
  let parent = dirname(resolve(folder));
  while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent);
  try {
    await access(parent, constants.W_OK | constants.X_OK);
    return ok(`${folder} is made at the first start`);
  } catch (error) {
    return attention(`${folder} does not exist, and cannot be made in ${parent} (${codeOf(error)})`);
  }
}

/** Of the given process, or of this one. */
export function examineOpenFiles(pid: number | null): Check {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid ?? 'self'}/limits`, 'utf8');
  } catch {
    return skipped('not known on this system');
  }
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (limit === undefined) return skipped('not known on this system');
  const detail = `at most ${limit} open files${pid === null ? '' : ' in the running gateway'}`;
  return Number(limit) < OPEN_FILES_MIN ? attention(detail) : ok(detail);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}
