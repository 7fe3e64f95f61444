/** Budget periods, in UTC. A week begins on Monday. */
export type Period = 'day' | 'week' | 'month' | 'none';

export const PERIODS: readonly Period[] = ['day', 'week', 'month', 'none'];

const DAY_MS = 86_400_000;

/** First millisecond of the period that holds `atMs`; 0 for `none`. */
export function periodStartMs(period: Period, atMs: number): number {
  if (period === 'none') return 0;
  const dayStartMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  if (period === 'day') return dayStartMs;
  const date = new Date(dayStartMs);
  if (period === 'week') return dayStartMs - ((date.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
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
