/** What a usage report is asked for, read strictly. */

import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { USAGE_DIMENSIONS, type UsageDimension, type UsageFilter, type UsageQuery } from '../../core/usage-report.ts';
import { readTime } from '../http/time.ts';
import { invalid, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { ROWS_MAX, UsageParameters } from './schema.ts';

const RANGE_DAYS_MAX = 400;
const HOURLY_DAYS_MAX = 92;
const DEFAULT_SINCE = '30d';
const LENGTH = /^(\d{1,5})([hdw])$/;
const UNIT_MS = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS } as const;

interface AskedUsage extends UsageQuery {
  /** Only keys of this account and of those below it. */
  readonly accountId: string | null;
}

export function readUsageQuery(given: View<typeof UsageParameters>, nowMs: number): AskedUsage {
  const by = readDimensions(given.by);
  const since = given.since ?? DEFAULT_SINCE;
  const fromMs = timeOf('since', since, nowMs);
  const toMs = given.until === undefined ? nowMs : timeOf('until', given.until, nowMs);
  const sinceMs = beginning(since, fromMs);
  const untilMs = given.until === undefined ? hourAfter(toMs) : hourAfter(toMs - 1);
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
  if (given.order !== undefined && given.top === undefined) throw invalid('order', 'applies only together with top');
  return {
    sinceMs,
    untilMs,
    by,
    filter: filterOf(given),
    rowsMax: ROWS_MAX,
    accountId: given.account ?? null,
    ...(given.top !== undefined && { top: { count: given.top, order: given.order ?? 'cost' } }),
  };
}

function readDimensions(text: string | undefined): readonly UsageDimension[] {
  if (text === undefined || text === '') return [];
  const names = text.split(',').map((name) => name.trim());
  const known = names.filter((name): name is UsageDimension => (USAGE_DIMENSIONS as readonly string[]).includes(name));
  if (known.length < names.length || new Set(names).size < names.length) throw unexpected(UsageParameters, 'by', text);
  return known;
}

/** `30d` is thirty days of UTC, today among them, as in the console: no day of a report but the last is a part of one. */
function beginning(text: string, atMs: number): number {
  if (/[dw]$/.test(text)) return (Math.floor(atMs / DAY_MS) + 1) * DAY_MS;
  return Math.floor(atMs / HOUR_MS) * HOUR_MS;
}

function timeOf(field: 'since' | 'until', text: string, nowMs: number): number {
  const [, count, unit] = LENGTH.exec(text) ?? [];
  if (count !== undefined) return nowMs - Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  const atMs = readTime(text);
  if (atMs === null || atMs < 0) throw unexpected(UsageParameters, field, text);
  return atMs;
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
