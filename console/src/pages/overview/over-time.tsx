/** The chart: one series per group, the smallest of them together. A bar leads to the requests behind it. */
import { lazy, Suspense } from 'react';
import { useLocation } from 'wouter';
import type { UsageRow } from '../../api/usage.ts';
import { count, nanosOf, shortCredits } from '../../ui/format.ts';
import type { Point, Series } from './chart.tsx';
import { type Dimension, fieldOf, type Measure, measured, requestsHref } from './measures.ts';
import css from './overview.module.css';
import { endOf, LOCAL_ZONE, type Period, stepsOf, type Zone } from './periods.ts';

const Chart = lazy(() => import('./chart.tsx').then((module) => ({ default: module.Chart })));

const OTHER = 'other';
export const SERIES_MAX = 5;

export type TimedRow = UsageRow & { readonly at: number };

export function OverTime({
  rows,
  total,
  period,
  zone,
  by,
  measure,
  narrowed,
  nameOf,
  now,
}: {
  /** Of the groups with the most, and of all together. */
  rows: readonly TimedRow[];
  total: readonly TimedRow[];
  period: Period;
  zone: Zone;
  by: Dimension;
  measure: Measure;
  /** What the figures are of. */
  narrowed: Readonly<Record<string, string>>;
  nameOf: (value: string | null) => string;
  now: number;
}) {
  const [, navigate] = useLocation();
  const field = fieldOf(by);
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row[field] ?? '', (sums.get(row[field] ?? '') ?? 0) + measured(row, measure));
  const ranked = [...sums]
    .filter(([, sum]) => sum > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([id]) => id);
  const own = ranked.length > SERIES_MAX ? ranked.slice(0, SERIES_MAX) : ranked;
  const series: Series[] = own.map((id, index) => ({
    id: `s:${id}`,
    name: nameOf(id === '' ? null : id),
    color: `var(--series-${index + 1})`,
  }));
  const hasOthers = own.length < ranked.length;
  if (hasOthers) series.push({ id: OTHER, name: 'others', color: 'var(--series-other)' });
  const points: Point[] = stepsOf(period, now, zone).map((at) => ({ at, values: {} }));
  const byTime = new Map(points.map((point) => [point.at, point.values as Record<string, number>]));
  const add = (at: number, id: string, value: number): void => {
    const values = byTime.get(at);
    if (values !== undefined) values[id] = (values[id] ?? 0) + value;
  };
  for (const row of rows)
    if (own.includes(row[field] ?? '')) add(row.at, `s:${row[field] ?? ''}`, measured(row, measure));
  if (hasOthers) {
    for (const row of total) add(row.at, OTHER, measured(row, measure));
    for (const values of byTime.values()) {
      const shown = own.reduce((sum, id) => sum + (values[`s:${id}`] ?? 0), 0);
      // Of credits nine decimals count. The two reports are not of the same moment.
      values[OTHER] = Math.max(0, Number(((values[OTHER] ?? 0) - shown).toFixed(9)));
    }
  }
  const open = (at: number, id: string): void => {
    const range = {
      since: new Date(at).toISOString(),
      until: new Date(endOf(period, at, zone)).toISOString(),
      ...narrowed,
    };
    navigate(id === OTHER ? `/requests?${new URLSearchParams(range)}` : requestsHref(by, id.slice(2) || null, range));
  };
  return (
    <>
      <div className={css.legend}>
        {series.map(({ id, name, color }) => (
          <span key={id}>
            <span className={css.swatch} style={{ background: color }} />
            {name}
          </span>
        ))}
      </div>
      <Suspense fallback={<div className={css.chartPlace} />}>
        <Chart
          label={`${measure} over time, grouped by ${by}; the table below has the figures`}
          points={points}
          series={series}
          format={(value) => (measure === 'cost' ? `${shortCredits(nanosOf(value))} credits` : count(value))}
          time={(at) => timeText(at, period, zone)}
          open={open}
        />
      </Suspense>
    </>
  );
}

const FORMATS = {
  hour: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
  month: { month: 'short', year: 'numeric' },
} as const satisfies Record<Period['step'], Intl.DateTimeFormatOptions>;

function timeText(at: number, { step }: Period, zone: Zone): string {
  const timeZone = zone === 'UTC' ? 'UTC' : LOCAL_ZONE;
  return new Intl.DateTimeFormat('en-GB', { ...FORMATS[step], timeZone }).format(at);
}
