/** The periods of the overview, each with the one before it, in days of UTC or of the reader. */
export type Zone = 'UTC' | 'local';
type Step = 'hour' | 'day' | 'month';

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function zoneName(zone: Zone): string {
  return zone === 'UTC' ? 'UTC' : LOCAL_ZONE;
}

interface Range {
  readonly since: number;
  /** Null: now. */
  readonly until: number | null;
}

export interface Period {
  readonly id: string;
  readonly label: string;
  /** In a sentence: "spent in …". */
  readonly words: string;
  /** The one before, which ends where this one begins; null where it would be compared with a part of one. */
  readonly before: { readonly words: string; begin(now: number, zone: Zone): number } | null;
  readonly step: Step;
  range(now: number, zone: Zone): Range;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** The beginning of the step that a time is in. `by`: how many steps later. */
function stepAt(step: Step, at: number, zone: Zone, by = 0): number {
  if (step === 'hour') return (Math.floor(at / HOUR_MS) + by) * HOUR_MS;
  const date = new Date(at);
  if (zone === 'UTC') {
    return step === 'day'
      ? (Math.floor(at / DAY_MS) + by) * DAY_MS
      : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + by);
  }
  return step === 'day'
    ? new Date(date.getFullYear(), date.getMonth(), date.getDate() + by).getTime()
    : new Date(date.getFullYear(), date.getMonth() + by, 1).getTime();
}

/** So many steps, the last one not over yet. */
function rolling(id: string, label: string, step: Step, steps: number): Period {
  return {
    id,
    label,
    words: `in the last ${label}`,
    before: { words: `the ${label} before`, begin: (now, zone) => stepAt(step, now, zone, 1 - 2 * steps) },
    step,
    range: (now, zone) => ({ since: stepAt(step, now, zone, 1 - steps), until: null }),
  };
}

export const ROLLING: readonly Period[] = [
  rolling('24h', '24 hours', 'hour', 24),
  rolling('7d', '7 days', 'day', 7),
  rolling('30d', '30 days', 'day', 30),
  rolling('90d', '90 days', 'day', 90),
  rolling('12m', '12 months', 'month', 12),
];

/** A day or a month of the calendar: this one, which is not over, or the one before it. */
function calendar(id: string, label: string, unit: 'day' | 'month', back: 0 | 1): Period {
  return {
    id,
    label,
    words: label.toLowerCase(),
    before: back === 0 ? null : { words: `the ${unit} before`, begin: (now, zone) => stepAt(unit, now, zone, -2) },
    step: unit === 'day' ? 'hour' : 'day',
    range: (now, zone) => ({
      since: stepAt(unit, now, zone, -back),
      until: back === 0 ? null : stepAt(unit, now, zone),
    }),
  };
}

export const CALENDAR: readonly Period[] = [
  calendar('today', 'Today', 'day', 0),
  calendar('yesterday', 'Yesterday', 'day', 1),
  calendar('this-month', 'This month', 'month', 0),
  calendar('last-month', 'Last month', 'month', 1),
];

/** As the period of the address: from one day to another. */
export const CUSTOM = 'custom';
const DAYS_MAX = 400;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Null where these are no days, or not in this order. The last day belongs to it. */
function custom(from: string, to: string): Period | null {
  if (!DATE.test(from) || !DATE.test(to)) return null;
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (!(days >= 1 && days <= DAYS_MAX)) return null;
  return {
    id: CUSTOM,
    label: 'From – to',
    words: from === to ? `on ${from}` : `from ${from} to ${to}`,
    before: {
      words: days === 1 ? 'the day before' : `the ${days} days before`,
      begin: (_now, zone) => stepAt('day', dayStart(from, zone), zone, -days),
    },
    step: days <= 2 ? 'hour' : days <= 120 ? 'day' : 'month',
    range: (now, zone) => {
      const until = stepAt('day', dayStart(to, zone), zone, 1);
      return { since: dayStart(from, zone), until: until > now ? null : until };
    },
  };
}

/** What the address names; 30 days where it names nothing. */
export function periodOf({ period, from = '', to = '' }: { period?: string; from?: string; to?: string }): Period {
  const named = [...ROLLING, ...CALENDAR].find(({ id }) => id === period);
  return named ?? (period === CUSTOM ? custom(from, to) : null) ?? (ROLLING[2] as Period);
}

/** When a day of the API begins. */
function dayStart(day: string, zone: Zone): number {
  return Date.parse(zone === 'UTC' ? `${day}T00:00Z` : `${day}T00:00`);
}

/** The day of a time, as the API takes it. */
export function dayText(at: number, zone: Zone): string {
  if (zone === 'UTC') return new Date(at).toISOString().slice(0, 10);
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The beginning of each step of the period, oldest first. */
export function stepsOf(period: Period, now: number, zone: Zone): readonly number[] {
  const { since, until } = period.range(now, zone);
  const steps: number[] = [];
  for (let at = stepAt(period.step, since, zone); at < (until ?? now); at = endOf(period, at, zone)) steps.push(at);
  return steps;
}

/** The beginning of the step that a row of a report is in. */
export function stepOf({ step }: Period, row: { hour?: string; day?: string }, zone: Zone): number {
  return stepAt(step, row.hour === undefined ? dayStart(row.day ?? '', zone) : Date.parse(row.hour), zone);
}

/** Where the step that begins at this time ends. */
export function endOf({ step }: Period, at: number, zone: Zone): number {
  return stepAt(step, at, zone, 1);
}

/** As a report takes it: whole days by their names, so that both sides agree where they begin. */
export function reportRange(period: Period, now: number, zone: Zone) {
  const { since, until } = period.range(now, zone);
  const text = (at: number): string => (period.step === 'hour' ? new Date(at).toISOString() : dayText(at, zone));
  return { since: text(since), ...(until !== null && { until: text(until) }), time_zone: zoneName(zone) };
}

/** As the list of requests takes it. */
export function requestRange(period: Period, now: number, zone: Zone): { since: string; until?: string } {
  const { since, until } = period.range(now, zone);
  return { since: new Date(since).toISOString(), ...(until !== null && { until: new Date(until).toISOString() }) };
}
