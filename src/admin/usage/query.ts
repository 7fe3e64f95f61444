/** What a usage report is asked for, read strictly. */

import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { localTime, momentAt, offsetsWithin, timeZoneNamed } from '../../core/time-zone.ts';
import {
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageFilter,
  type UsageOrder,
  type UsagePeriod,
  type UsageQuery,
} from '../../core/usage-report.ts';
import { readTime } from '../http/time.ts';
import { invalid, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { ROWS_MAX, UsageParameters } from './schema.ts';

const RANGE_DAYS_MAX = 400;
const HOURLY_DAYS_MAX = 92;
const DEFAULT_SINCE = '30d';
const UTC = 'UTC';
const HAS_ZONE = /T.*(Z|[+-]\d{2}:\d{2})$/;
const LENGTH = /^(\d{1,5})([hdw])$/;
const UNIT_MS = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

export interface AskedUsage extends Omit<UsageQuery, 'top'> {
  /** Whose days are meant. */
  readonly timeZone: string;
  /** Only keys of this account and of those below it. */
  readonly accountId: string | null;
  /** Accounts further down count for theirs of this level, roots being the first; null: each for itself. */
  readonly level: number | null;
  /** Only so many groups, those with the most of something. */
  readonly ranked: { readonly count: number; readonly order: UsageOrder | 'failed' } | null;
}

export function readUsageQuery(given: View<typeof UsageParameters>, nowMs: number): AskedUsage {
  const by = readDimensions(given.by);
  const timeZone = readTimeZone(given.time_zone);
  const { fromMs, toMs, sinceMs, untilMs } = readRange(given, timeZone, nowMs);
  if (sinceMs >= untilMs) {
    throw invalid('since', `is ${iso(sinceMs)}, which is not before the end of the report (${iso(untilMs)})`);
  }
  // The hours and the part of a day that a report begins earlier or ends later than asked for are no part of the limit.
  const days = (toMs - fromMs) / DAY_MS;
  if (days > RANGE_DAYS_MAX) {
    const limit = `a report spans up to ${RANGE_DAYS_MAX} days, so ask for parts`;
    if (nowMs - fromMs > RANGE_DAYS_MAX * DAY_MS) {
      throw invalid('since', `is ${iso(sinceMs)}, and the report ends at ${iso(untilMs)}: ${limit}`);
    }
    throw invalid('until', `is ${iso(untilMs)}, and the report begins at ${iso(sinceMs)}: ${limit}`);
  }
  if (by.includes('hour') && days > HOURLY_DAYS_MAX) {
    throw invalid(
      'by',
      `has hour, from ${iso(sinceMs)} to ${iso(untilMs)}: hours are reported for up to ${HOURLY_DAYS_MAX} days`,
    );
  }
  const { top, order = 'cost', level = null } = given;
  if (given.order !== undefined && top === undefined) throw invalid('order', 'applies only together with top');
  if (level !== null && !by.includes('account')) throw invalid('level', 'applies only to a report by account');
  return {
    sinceMs,
    untilMs,
    by,
    filter: filterOf(given),
    rowsMax: ROWS_MAX,
    timeZone,
    ...(timeZone !== UTC && { offsets: offsetsWithin(timeZone, sinceMs, untilMs) }),
    accountId: given.account ?? null,
    level,
    ranked: top === undefined ? null : { count: top, order },
  };
}

function readTimeZone(text = UTC): string {
  const zone = timeZoneNamed(text);
  if (zone === null) throw unexpected(UsageParameters, 'time_zone', text);
  return zone;
}

interface Range {
  /** As it was asked for, and the whole hours of it. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

function readRange(given: View<typeof UsageParameters>, zone: string, nowMs: number): Range {
  const { period, until } = given;
  if (period !== undefined) {
    if (given.since !== undefined || until !== undefined) {
      throw invalid('period', 'cannot be combined with since and until: give one or the other');
    }
    const { fromMs, toMs } = periodOf(period, zone, nowMs);
    const [sinceMs, untilMs] = [hourAfter(fromMs - 1), hourAfter(Math.min(toMs - 1, nowMs))];
    return { fromMs, toMs: Math.min(toMs, nowMs), sinceMs, untilMs };
  }
  const since = given.since ?? DEFAULT_SINCE;
  const fromMs = timeOf('since', since, zone, nowMs);
  const toMs = until === undefined ? nowMs : timeOf('until', until, zone, nowMs);
  const untilMs = until === undefined ? hourAfter(toMs) : hourAfter(toMs - 1);
  return { fromMs, toMs, sinceMs: beginning(since, fromMs, zone), untilMs };
}

/** In the days of the zone; what is not over ends with now. */
function periodOf(
  period: UsagePeriod,
  zone: string,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const now = new Date(localTime(zone, nowMs));
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const monday = day - ((now.getUTCDay() + 6) % 7);
  const local: Readonly<Record<UsagePeriod, readonly [fromMs: number, toMs: number]>> = {
    today: [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)],
    yesterday: [Date.UTC(year, month, day - 1), Date.UTC(year, month, day)],
    this_week: [Date.UTC(year, month, monday), Date.UTC(year, month, monday + 7)],
    last_week: [Date.UTC(year, month, monday - 7), Date.UTC(year, month, monday)],
    this_month: [Date.UTC(year, month), Date.UTC(year, month + 1)],
    last_month: [Date.UTC(year, month - 1), Date.UTC(year, month)],
  };
  const [fromMs, toMs] = local[period];
  return { fromMs: momentAt(zone, fromMs), toMs: momentAt(zone, toMs) };
}

function readDimensions(text: string | undefined): readonly UsageDimension[] {
  if (text === undefined || text === '') return [];
  const names = text.split(',').map((name) => name.trim());
  const known = names.filter((name): name is UsageDimension => (USAGE_DIMENSIONS as readonly string[]).includes(name));
  if (known.length < names.length || new Set(names).size < names.length) throw unexpected(UsageParameters, 'by', text);
  return known;
}

/**
 * `30d` is thirty days of the zone, today among them, as in the console: no day of a report but the last is a part of one. Where
 * a day of the zone does not begin on a whole hour of UTC, it begins with the first such hour.
 */
function beginning(text: string, atMs: number, zone: string): number {
  if (/[dw]$/.test(text)) {
    return hourAfter(momentAt(zone, (Math.floor(localTime(zone, atMs) / DAY_MS) + 1) * DAY_MS) - 1);
  }
  return text.includes('T') || text.endsWith('h') ? Math.floor(atMs / HOUR_MS) * HOUR_MS : hourAfter(atMs - 1);
}

function timeOf(field: 'since' | 'until', text: string, zone: string, nowMs: number): number {
  const [, count, unit] = LENGTH.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  const atMs = readTime(text);
  if (atMs === null || atMs < 0) throw unexpected(UsageParameters, field, text);
  return zone === UTC || HAS_ZONE.test(text) ? atMs : momentAt(zone, atMs);
}

function filterOf(given: Readonly<Partial<Record<keyof UsageFilter, string>>>): UsageFilter {
  const names = ['key', 'label', 'model', 'provider', 'format'] as const;
  return Object.fromEntries(names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
}

function hourAfter(atMs: number): number {
  return (Math.floor(atMs / HOUR_MS) + 1) * HOUR_MS;
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
