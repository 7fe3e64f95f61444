export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The seconds of now, as the APIs count them. */
export function nowS(): number {
  return Math.floor(Date.now() / 1_000);
}

/** The day in UTC, e.g. `2030-01-31`. */
export function isoDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
