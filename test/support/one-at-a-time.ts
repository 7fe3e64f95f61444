/** What several test files need and only one may make: the others wait until it is there. */
import { mkdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 100;
/** A lock that a killed process has left is not in the way for ever; one whose work takes long is renewed. */
const LEFT_BEHIND_MS = 300_000;
const RENEW_MS = 10_000;

export async function oneAtATime<T>(name: string, work: () => Promise<T>): Promise<T> {
  const lock = join(tmpdir(), `gateway-${name}.lock`);
  while (!taken(lock)) await delay(POLL_MS);
  const alive = setInterval(() => utimesSync(lock, new Date(), new Date()), RENEW_MS);
  try {
    return await work();
  } finally {
    clearInterval(alive);
    rmSync(lock, { recursive: true, force: true });
  }
}

function taken(lock: string): boolean {
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > LEFT_BEHIND_MS) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}
