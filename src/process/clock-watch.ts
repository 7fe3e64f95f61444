/** Says once in the log when the machine's clock has jumped, and counts it. */
import type { SystemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Reading } from '../observe/metrics/reading.ts';
import { one } from './serving-metrics.ts';

const LOOK_MS = 1_000;

export interface ClockWatch {
  reading(): Reading;
  close(): void;
}

/** `lookMs`: how often it looks, beside whoever asks for the time. */
export function watchClock(clock: SystemClock, log: Log, lookMs = LOOK_MS): ClockWatch {
  let seen = clock.jumped;
  let aheadMs = 0;
  const look = (): void => {
    clock.nowMs();
    const { jumped } = clock;
    if (jumped.times > seen.times) {
      const seconds = Math.round((jumped.ms - seen.ms) / 1_000);
      log.warn(
        { seconds },
        'the clock of this machine has jumped ahead: expiries and budget periods follow it; holds and rate limits do not',
      );
      seen = jumped;
    }
    const nowAheadMs = clock.aheadMs;
    if (nowAheadMs > 0 && aheadMs === 0) {
      log.warn(
        { seconds: Math.round(nowAheadMs / 1_000) },
        'the clock of this machine was set back: the gateway keeps its own time until the next start',
      );
    }
    aheadMs = nowAheadMs;
  };
  const timer = setInterval(look, lookMs);
  timer.unref();
  return {
    reading() {
      look();
      return { gateway_clock_jumps_total: one(seen.times), gateway_clock_ahead_seconds: one(aheadMs / 1_000) };
    },
    close: () => clearInterval(timer),
  };
}
