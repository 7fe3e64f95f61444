/** Budget periods in UTC, by the calendar alone (ruling 17). */
import type { Period } from '../../src/core/period.ts';

/** First millisecond of the period that holds `atMs`. */
export function firstOf(period: Period, atMs: number): number {
  if (period === 'none') return 0;
  const at = new Date(atMs);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  if (period === 'month') return Date.UTC(year, month, 1);
  let day = at.getUTCDate();
  // 1 is Monday; a day of the month below 1 reaches back into the month before.
  if (period === 'week') while (new Date(Date.UTC(year, month, day)).getUTCDay() !== 1) day--;
  return Date.UTC(year, month, day);
}

/** First millisecond of the next one; null where there is none. */
export function nextAfter(period: Period, atMs: number): number | null {
  if (period === 'none') return null;
  const first = new Date(firstOf(period, atMs));
  const days = { day: 1, week: 7, month: 0 }[period];
  return Date.UTC(
    first.getUTCFullYear(),
    first.getUTCMonth() + (period === 'month' ? 1 : 0),
    first.getUTCDate() + days,
  );
}
