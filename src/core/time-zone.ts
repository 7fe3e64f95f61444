/** Days of time zones, by the data that the platform has of them. */
import { DAY_MS, HOUR_MS } from './time.ts';

/** From this moment on, clocks of the zone are so much ahead of UTC. */
export interface ZoneOffset {
  readonly fromMs: number;
  readonly offsetMs: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Null where there is no zone of this name. Its spelling is the platform's. */
export function timeZoneNamed(name: string): string | null {
  try {
    return formatOf(name).resolvedOptions().timeZone;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    const part = 'numeric';
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      ...{ era: 'short', year: part, month: part, day: part, hour: part, minute: part, second: part },
    });
    formats.set(zone, format);
  }
  return format;
}

/** How much clocks of the zone are ahead of UTC. */
function offsetAt(zone: string, atMs: number): number {
  const seconds = Math.floor(atMs / 1_000) * 1_000;
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(seconds)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - seconds;
}

/** The first one begins no later than `sinceMs`. */
export function offsetsWithin(zone: string, sinceMs: number, untilMs: number): readonly ZoneOffset[] {
  const found: ZoneOffset[] = [{ fromMs: sinceMs, offsetMs: offsetAt(zone, sinceMs) }];
  for (let fromMs = sinceMs; fromMs < untilMs; fromMs += DAY_MS) {
    const offsetMs = offsetAt(zone, fromMs + DAY_MS);
    if (offsetMs === found.at(-1)?.offsetMs) continue;
    // Clocks are changed on a whole hour of UTC, or close to one: what is reported are whole hours.
    let atMs = fromMs + HOUR_MS;
    while (offsetAt(zone, atMs) !== offsetMs) atMs += HOUR_MS;
    found.push({ fromMs: atMs, offsetMs });
  }
  return found;
}

/** The moment at which clocks of the zone show what those of UTC show at `localMs`; of two, the first. */
export function momentAt(zone: string, localMs: number): number {
  const candidates = [localMs - DAY_MS, localMs + DAY_MS].map((atMs) => localMs - offsetAt(zone, atMs));
  const right = candidates.filter((atMs) => atMs + offsetAt(zone, atMs) === localMs);
  // A time that is left out when clocks are put ahead begins when they are.
  return right.length > 0 ? Math.min(...right) : Math.max(...candidates);
}

/** What clocks of the zone show, as the moment at which those of UTC show it. */
export function localTime(zone: string, atMs: number): number {
  return atMs + offsetAt(zone, atMs);
}

/** The day that an hour begins in, as the midnight of UTC on that date. */
export function localDay(offsets: readonly ZoneOffset[] | undefined, atMs: number): number {
  const offsetMs = offsets?.findLast(({ fromMs }) => fromMs <= atMs)?.offsetMs ?? 0;
  return Math.floor((atMs + offsetMs) / DAY_MS) * DAY_MS;
}
