export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The seconds of now, as the APIs count them. */
export function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}

/**
 * What a month like `2026-10` matches, from 1970 to 2999: `Date.UTC` takes the years 0 to 99 for those of the last century, and
 * after 9999 a day has more digits.
 */
export const MONTH = '^(19[7-9]\\d|2\\d{3})-(0[1-9]|1[0-2])$';

/** The day in UTC, e.g. `2030-01-31`. */
export function isoDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
