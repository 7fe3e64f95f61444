/** Which rollups answer a usage report, and the parts of its SQL that both dialects have in common. */
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { localDay } from '../core/time-zone.ts';
import type { UsageDimension, UsageGroup, UsageQuery } from '../core/usage-report.ts';
import { integerOrNull, type Row, textOrNull } from '../storage/columns.ts';
import { dayColumn } from '../storage/day-column.ts';

export interface UsageSource {
  readonly table: 'usage_hours' | 'usage_key_hours' | 'usage_key_days' | 'usage_account_days';
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A charge, or the sum of several, before it belongs to a group of the report. */
export interface UsagePlace {
  /** Of its hour. */
  readonly startMs: number;
  readonly keyId: string;
  readonly label: string | null;
  /** The account that the key has now. */
  readonly accountId: string | null;
  readonly model: string;
  readonly provider: string;
  readonly format: string;
}

/** Beyond so many charges that no rollup counts yet, a report says that it is catching up instead of reading them. */
export const TAIL_MAX = 50_000;

const OF_KEYS: readonly UsageDimension[] = ['key', 'label', 'account'];

export function isByKey({ by, filter, keys }: UsageQuery): boolean {
  const filtered = keys !== undefined || filter.key !== undefined || filter.label !== undefined;
  return filtered || by.some((dimension) => OF_KEYS.includes(dimension));
}

/** Whether it asks for what only the keys themselves say. */
export function namesKeys({ by, filter }: UsageQuery): boolean {
  return filter.label !== undefined || by.includes('label') || by.includes('account');
}

/** Whether rows by day and account carry it. */
export function isByAccountAlone({ by, filter, keys }: UsageQuery): boolean {
  const whole = keys === undefined && Object.values(filter).every((value) => value === undefined);
  return whole && by.includes('account') && by.every((dimension) => dimension === 'account' || dimension === 'day');
}

/** Whether it is by days that the rollups by day do not have. */
function hasOtherDays({ by, offsets }: UsageQuery): boolean {
  return offsets !== undefined && by.includes('day');
}

/**
 * The fewest rows that carry it: the rollup without keys, or whole days of keys with the hours around them; from
 * `accountDaysMs` on, whole days of accounts.
 */
export function sourcesOf(query: UsageQuery, accountDaysMs: number | null = null): readonly UsageSource[] {
  const { sinceMs, untilMs } = query;
  if (!isByKey(query)) return [{ table: 'usage_hours', sinceMs, untilMs }];
  const firstDayMs = Math.ceil(sinceMs / DAY_MS) * DAY_MS;
  const lastDayMs = Math.floor(untilMs / DAY_MS) * DAY_MS;
  if (query.by.includes('hour') || hasOtherDays(query) || firstDayMs >= lastDayMs)
    return [{ table: 'usage_key_hours', sinceMs, untilMs }];
  const accountsMs = Math.min(lastDayMs, Math.max(firstDayMs, accountDaysMs ?? lastDayMs));
  const sources: UsageSource[] = [
    { table: 'usage_key_hours', sinceMs, untilMs: firstDayMs },
    { table: 'usage_key_days', sinceMs: firstDayMs, untilMs: accountsMs },
    { table: 'usage_account_days', sinceMs: accountsMs, untilMs: lastDayMs },
    { table: 'usage_key_hours', sinceMs: lastDayMs, untilMs },
  ];
  return sources.filter((source) => source.sinceMs < source.untilMs);
}

/** By the columns of a rollup `r` and of the keys `k`. */
const COLUMNS: Readonly<Record<UsageDimension, string>> = {
  day: 'r.start_ms',
  hour: 'r.start_ms',
  key: 'r.key_id',
  label: 'k.label',
  account: 'k.account_id',
  model: 'r.model',
  provider: 'r.provider',
  format: 'r.format',
};

export function dimensionColumn({ offsets }: UsageQuery, dimension: UsageDimension): string {
  return dimension === 'day' ? dayColumn(COLUMNS.day, offsets) : COLUMNS[dimension];
}

/** The account that an account counts for. */
function accountIn({ accountOf }: UsageQuery, accountId: string | null): string | null {
  return accountId === null ? null : (accountOf?.get(accountId) ?? accountId);
}

/** What a row has to satisfy: pairs of a column and the text that it must equal. */
export function filterColumns({ filter }: UsageQuery): readonly (readonly [column: string, value: string])[] {
  return (Object.keys(filter) as (keyof typeof filter)[]).flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [[COLUMNS[name], value] as const];
  });
}

/** The group of a charge that is in no rollup; null where the report does not ask for it. */
export function groupOf(query: UsageQuery, place: UsagePlace): UsageGroup | null {
  const { by, filter, keys, sinceMs, untilMs } = query;
  const { startMs, keyId, label, accountId, model, provider, format } = place;
  if (startMs < sinceMs || startMs >= untilMs || keys?.has(keyId) === false) return null;
  const values = {
    day: localDay(query.offsets, startMs),
    hour: startMs,
    key: keyId,
    label,
    account: accountIn(query, accountId),
    model,
    provider,
    format,
  } as const;
  for (const [name, wanted] of Object.entries(filter)) {
    if (wanted !== undefined && values[name as UsageDimension] !== wanted) return null;
  }
  return by.map((dimension) => values[dimension]);
}

/** Of a row of a report, which has its dimensions as the columns `d0`, `d1` and so on. */
export function groupFrom(query: UsageQuery, row: Row): UsageGroup {
  return query.by.map((dimension, index) => {
    const column = `d${index}`;
    if (dimension === 'day' || dimension === 'hour') return integerOrNull(row, column);
    const value = textOrNull(row, column);
    return dimension === 'account' ? accountIn(query, value) : value;
  });
}

export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS;
}

export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}
