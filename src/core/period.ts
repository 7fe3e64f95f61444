/** Budget periods, in UTC. A week begins on Monday. */
import { DAY_MS } from './time.ts';

export type Period = 'day' | 'week' | 'month' | 'none';

export const PERIODS: readonly Period[] = ['day', 'week', 'month', 'none'];

/** The week and the month that were asked for last, by the day that they were asked for: nearly always today. */
const asked = { dayMs: Number.NaN, week: 0, month: 0 };

/** First millisecond of the period that holds `atMs`; 0 for `none`. */
export function periodStartMs(period: Period, atMs: number): number {
  if (period === 'none') return 0;
  const dayStartMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  if (period === 'day') return dayStartMs;
  if (asked.dayMs !== dayStartMs) {
    const date = new Date(dayStartMs);
    asked.dayMs = dayStartMs;
    asked.week = dayStartMs - ((date.getUTCDay() + 6) % 7) * DAY_MS;
    asked.month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  }
  return asked[period];
}

/** First millisecond after the period that holds `atMs`; null for `none`, which never ends. */
export function periodEndMs(period: Period, atMs: number): number | null {
  if (period === 'none') return null;
  const startMs = periodStartMs(period, atMs);
  if (period === 'day') return startMs + DAY_MS;
  if (period === 'week') return startMs + 7 * DAY_MS;
  const date = new Date(startMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

export function dayStartMs(atMs: number): number {
  return periodStartMs('day', atMs);
}
