/** Mutations quote the source, which changes without them: one that does not fit any more is reported, and fails nothing. */
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';

/** A file, what it contains, what replaces it, and how often it occurs where that is not once. */
export type Edit = readonly [file: string, from: string, to: string, times?: number];

export class NoLongerFits extends Error {
  constructor(problem: string) {
    super(`no longer fits: ${problem}. Quote the code as it is now, or drop the mutation where its subject is gone.`);
  }
}

export function edited(text: string, [file, from, to, times = 1]: Edit): string {
  const found = text.split(from).length - 1;
  if (found !== times) throw new NoLongerFits(`${file} must contain this ${times} times, not ${found}: ${from}`);
  return text.replaceAll(from, () => to);
}

export function sourceText(file: string | URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new NoLongerFits(`there is no ${file}`);
  }
}

/** What `make` gives; null where its mutation does not fit any more, and the test is skipped with what to do. */
export async function ifItFits<T>(t: TestContext, make: () => T | Promise<T>): Promise<T | null> {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof NoLongerFits)) throw error;
    t.skip(error.message);
    return null;
  }
}
