import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `work` for so long at most, and then tells it. What it has begun goes on by itself. */
export async function inTime(limitMs: number, work: (givenUp: AbortSignal) => Promise<unknown>): Promise<void> {
  const giveUp = new AbortController();
  const late = delay(limitMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
  await Promise.race([work(giveUp.signal), late]);
  giveUp.abort();
}
