/** The machine must provide a writable data folder, and enough open files. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { FILES_WANTED, readFileLimit } from '../config/file-limit.ts';
import { errorCode } from '../lib/error-code.ts';
import { type Check, ok, problem, skipped } from './report.ts';

export async function checkDataFolder(folder: string): Promise<Check> {
  if (!existsSync(folder)) return checkMissingFolder(folder);
  const file = join(folder, `.doctor-${randomBytes(6).toString('hex')}`);
  try {
    await writeFile(file, 'x', { flag: 'wx', mode: 0o600 });
    return ok(`${folder} is writable`);
  } catch (error) {
    return problem(`${folder} is not writable (${reason(error)})`);
  } finally {
    await rm(file, { force: true }).catch(() => {});
  }
}

async function checkMissingFolder(folder: string): Promise<Check> {
  let parent = dirname(resolve(folder));
  while (!existsSync(parent) && dirname(parent) !== parent) parent = dirname(parent);
  try {
    await access(parent, constants.W_OK | constants.X_OK);
    return ok(`${folder} will be created at the first start`);
  } catch (error) {
    return problem(`${folder} does not exist and cannot be created in ${parent} (${reason(error)})`);
  }
}

/** Checks the limit of the given process, or of this one. */
export function checkOpenFiles(pid: number | null): Check {
  const limit = readFileLimit(`/proc/${pid ?? 'self'}/limits`);
  if (limit === null) return skipped('not known on this system');
  const most = limit === Number.POSITIVE_INFINITY ? 'unlimited' : `at most ${limit}`;
  const detail = `${most} open files${pid === null ? '' : ' in the running gateway'}`;
  return limit < FILES_WANTED ? problem(detail) : ok(detail);
}

function reason(error: unknown): string {
  return errorCode(error) ?? String(error);
}
