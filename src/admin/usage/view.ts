/** A usage report as the operator sees it. */
import { creditsFromNanos } from '../../core/money.ts';
import type { UsageDimension, UsageQuery } from '../../core/usage-report.ts';
import type { FailedByCondition } from '../../observe/failures/store.ts';
import { countOf, type GroupFigures, type GroupRow } from './failures.ts';
import type { UsageFiguresView, UsageRowView, UsageView } from './schema.ts';

/** What accounts are called, by their ids. */
export type AccountNames = ReadonlyMap<string, string>;

export interface Reported {
  readonly rows: readonly GroupRow[];
  readonly total: GroupFigures;
  readonly complete: boolean;
  readonly withoutKey: FailedByCondition;
}

/** `ownCost`: whether the caller may see what the calls cost the operator. */
export function usageView(
  query: Pick<UsageQuery, 'sinceMs' | 'untilMs' | 'by'> & { readonly timeZone: string },
  report: Reported,
  names: AccountNames,
  ownCost: boolean,
): UsageView {
  return {
    object: 'usage',
    since: new Date(query.sinceMs).toISOString(),
    until: new Date(query.untilMs).toISOString(),
    time_zone: query.timeZone,
    by: query.by,
    complete: report.complete,
    data: report.rows.map((row) => rowView(query.by, row, names, ownCost)),
    total: figuresView(report.total, ownCost),
    without_key: failedView(report.withoutKey),
  };
}

function rowView(by: readonly UsageDimension[], row: GroupRow, names: AccountNames, ownCost: boolean): UsageRowView {
  const group = by.map((dimension, index) => [dimension, dimensionView(dimension, row.group[index] ?? null)]);
  const account = accountOf(by, row);
  return {
    ...Object.fromEntries(group),
    ...(account !== undefined && { account_name: account === null ? null : (names.get(account) ?? null) }),
    ...figuresView(row, ownCost),
  };
}

/** Undefined where the report is not by account. */
function accountOf(by: readonly UsageDimension[], { group }: GroupRow): string | null | undefined {
  const index = by.indexOf('account');
  return index < 0 ? undefined : dimensionView('account', group[index] ?? null);
}

export function accountsIn(by: readonly UsageDimension[], rows: readonly GroupRow[]): readonly string[] {
  return [...new Set(rows.map((row) => accountOf(by, row)).filter((id) => typeof id === 'string'))];
}

function dimensionView(dimension: UsageDimension, value: string | number | null): string | null {
  if (typeof value !== 'number') return value || null;
  const time = new Date(value).toISOString();
  return dimension === 'day' ? time.slice(0, 10) : time;
}

function failedView(by: FailedByCondition): Pick<UsageFiguresView, 'failed' | 'failed_by_condition'> {
  return { failed: countOf(by), failed_by_condition: by };
}

/** To a millionth. */
function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1e6) / 1e6;
}

function figuresView({ sums, failed, firstByteMs, durationMs }: GroupFigures, ownCost: boolean): UsageFiguresView {
  const counted = failedView(failed);
  const broken = Number(sums.broken);
  return {
    requests: Number(sums.requests),
    cancelled: Number(sums.charges - sums.requests),
    broken,
    ...counted,
    error_rate: share(counted.failed + broken, Number(sums.charges) + counted.failed),
    cost: creditsFromNanos(sums.cost_nanos),
    provider_cost: ownCost ? creditsFromNanos(sums.provider_cost_nanos) : null,
    margin: ownCost ? creditsFromNanos(sums.cost_nanos - sums.provider_cost_nanos) : null,
    charged_credits: creditsFromNanos(sums.charged_nanos),
    charged_tokens: Number(sums.charged_tokens),
    input_tokens: Number(sums.input),
    cache_read_tokens: Number(sums.cache_read),
    cache_write_tokens: Number(sums.cache_write),
    cache_write_1h_tokens: Number(sums.cache_write_1h),
    output_tokens: Number(sums.output),
    reasoning_tokens: Number(sums.reasoning),
    first_byte_ms: firstByteMs,
    duration_ms: durationMs,
  };
}
