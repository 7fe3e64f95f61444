/** The overview: what was spent, against the period before, by whom and on what. */
import { SegmentedControl, Select } from '@mantine/core';
import { lazy, Suspense, useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { useKeys } from '../../api/queries.ts';
import { useRunning } from '../../api/requests.ts';
import { type UsageFigures, type UsageRow, useUsage } from '../../api/usage.ts';
import { Code } from '../../ui/code.tsx';
import { useFilters } from '../../ui/filters.tsx';
import {
  count,
  exactCredits,
  headlineCredits,
  milliseconds,
  nanosOf,
  percent,
  plural,
  shortCount,
  shortCredits,
} from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, useNow } from '../../ui/values.tsx';
import type { Point, Series } from './chart.tsx';
import css from './overview.module.css';
import { beginOf, PERIODS, type Period, stepMs, stepsOf } from './periods.ts';

const Chart = lazy(() => import('./chart.tsx').then((module) => ({ default: module.Chart })));

type Dimension = 'model' | 'provider' | 'key' | 'format';
const DIMENSIONS: readonly { value: Dimension; label: string }[] = [
  { value: 'model', label: 'by model' },
  { value: 'key', label: 'by key' },
  { value: 'provider', label: 'by provider' },
  { value: 'format', label: 'by format' },
];

type Measure = 'cost' | 'requests' | 'tokens';
const MEASURES: readonly { value: Measure; label: string }[] = [
  { value: 'cost', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
];

const OTHER = 'other';
const SERIES_MAX = 5;

export function OverviewPage() {
  const { filters, set } = useFilters(['period', 'by', 'show'] as const);
  const period = PERIODS.find(({ id }) => id === filters.period) ?? (PERIODS[2] as Period);
  const by = (DIMENSIONS.find(({ value }) => value === filters.by)?.value ?? 'model') as Dimension;
  const measure = (MEASURES.find(({ value }) => value === filters.show)?.value ?? 'cost') as Measure;
  const now = useNow();
  const begin = beginOf(period, now);
  const series = useUsage({ by: `${period.step},${by}`, since: period.since });
  const groups = useUsage({ by, since: period.since });
  const before = useUsage({ since: period.since_before, until: begin });
  const keys = useKeys();
  const names = useMemo(() => new Map(keys.data?.map((key) => [key.id, key.label ?? key.id])), [keys.data]);
  const nameOf = (value: string | null): string => (value === null ? 'unknown' : (names.get(value) ?? value));
  const total = groups.data?.total;
  const empty = total !== undefined && total.requests === 0 && total.cancelled === 0;
  return (
    <Page
      title="Overview"
      answer={total && !empty && <Answer now={total} before={before.data?.total} period={period} />}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Period"
          value={period.id}
          onChange={(value) => set('period', value)}
          data={PERIODS.map(({ id, label }) => ({ value: id, label }))}
        />
      }
    >
      <Failure error={groups.error ?? series.error} retry={() => void groups.refetch()} />
      {groups.isPending && <Loading rows={3} height={90} />}
      {empty && (
        <Empty title={`No requests ${period.words}`}>
          <p>As soon as a key is used, its spend, its speed and its failures are here. Send a first request:</p>
          <div className={css.paste}>
            <Code
              label="A first request"
              text={`curl ${keys.data?.[0]?.base_url ?? 'http://127.0.0.1:8080/v1'}/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"model":"sandbox/alpha","messages":[{"role":"user","content":"Hello!"}]}'`}
            />
          </div>
        </Empty>
      )}
      {total && !empty && (
        <>
          <Headline now={total} before={before.data?.total} />
          <Section
            title={MEASURES.find(({ value }) => value === measure)?.label}
            note={period.step === 'day' ? 'per day (UTC)' : 'per hour'}
            actions={
              <>
                <SegmentedControl
                  size="xs"
                  aria-label="What the chart shows"
                  value={measure}
                  onChange={(value) => set('show', value)}
                  data={[...MEASURES]}
                />
                <Select
                  size="xs"
                  w={130}
                  aria-label="Grouped"
                  allowDeselect={false}
                  data={[...DIMENSIONS]}
                  value={by}
                  onChange={(value) => set('by', value)}
                />
              </>
            }
          >
            <OverTime
              rows={series.data?.data ?? []}
              period={period}
              by={by}
              measure={measure}
              nameOf={nameOf}
              now={now}
            />
          </Section>
          <Section>
            <DataTable
              name={`Usage by ${by}`}
              rows={groups.data?.data ?? EMPTY}
              columns={columnsFor(by, nameOf)}
              rowId={(row) => String(row[by])}
              href={(row) => requestsHref(by, row[by] ?? null, { since: begin })}
            />
          </Section>
        </>
      )}
    </Page>
  );
}

const EMPTY: readonly UsageRow[] = [];

function Answer({ now, before, period }: { now: UsageFigures; before: UsageFigures | undefined; period: Period }) {
  const spent = nanosOf(now.cost);
  const unfinished = now.broken + now.cancelled;
  return (
    <>
      <strong className="num">{headlineCredits(spent)} credits</strong> spent {period.words}
      {before && before.cost > 0 && `, ${change(now.cost, before.cost)} than in ${period.before}`}
      {'; '}
      {unfinished === 0 ? (
        'every answer was complete'
      ) : (
        <>{percent(unfinished, now.requests + now.cancelled)} of the answers broke off or were cancelled</>
      )}
      .
    </>
  );
}

function change(now: number, before: number): string {
  const percentage = Math.round(Math.abs(now / before - 1) * 100);
  if (percentage === 0) return 'no more and no less';
  return `${count(percentage)} % ${now > before ? 'more' : 'less'}`;
}

/** Three figures that matter; what belongs to each stands below it. */
function Headline({ now, before }: { now: UsageFigures; before: UsageFigures | undefined }) {
  const running = useRunning();
  const held = (running.data ?? [])
    .filter(({ mode }) => mode === 'credit')
    .reduce((sum, { held: nanos }) => sum + BigInt(nanos), 0n);
  const first = now.first_byte_ms;
  const whole = now.duration_ms;
  return (
    <div className={css.figures}>
      <Figure
        name="Spend"
        value={headlineCredits(nanosOf(now.cost))}
        unit="credits"
        delta={before && <Delta now={now.cost} before={before.cost} />}
        href="/requests"
      >
        {now.provider_cost !== null &&
          now.margin !== null &&
          `Providers ask ${shortCredits(nanosOf(now.provider_cost))}; margin ${shortCredits(nanosOf(now.margin))}`}
      </Figure>
      <Figure
        name="Requests"
        value={count(now.requests)}
        unit=""
        delta={before && <Delta now={now.requests} before={before.requests} />}
        href="/requests"
      >
        {shortCount(tokensIn(now))} tokens in, {shortCount(now.output_tokens)} out
      </Figure>
      <Figure
        name="First byte, median"
        value={first === null ? '–' : milliseconds(first.p50)}
        unit=""
        href="/requests?slower_than=1s"
      >
        {first === null ? 'no times yet' : `95 % within ${milliseconds(first.p95)}`}
        {whole !== null && `; whole answers ${milliseconds(whole.p50)}, 95 % within ${milliseconds(whole.p95)}`}
      </Figure>
      <Figure
        name="Right now"
        value={running.data === undefined ? '–' : String(running.data.length)}
        unit="in flight"
        href="/requests?live=1"
      >
        {held === 0n ? 'nothing is held' : `${exactCredits(held)} credits held`}
      </Figure>
    </div>
  );
}

function Figure({
  name,
  value,
  unit,
  delta,
  href,
  children,
}: {
  name: string;
  value: string;
  unit: string;
  delta?: React.ReactNode;
  href: string;
  children: React.ReactNode;
}) {
  return (
    <Link href={href} className={css.figure}>
      <span className={css.figureName}>{name}</span>
      <span className={css.figureValue}>
        {value} {unit !== '' && <span className={css.figureUnit}>{unit}</span>} {delta}
      </span>
      <span className={css.figureNote}>{children}</span>
    </Link>
  );
}

/** Against the period before. Neither direction is good or bad in itself, so it has no colour. */
function Delta({ now, before }: { now: number; before: number }) {
  if (before === 0) return null;
  const value = Math.round((now / before - 1) * 100);
  return (
    <span className={css.delta}>
      {value > 0 ? '+' : value < 0 ? '−' : '±'}
      {count(Math.abs(value))} %
    </span>
  );
}

function tokensIn(row: UsageFigures): number {
  return row.input_tokens + row.cache_read_tokens + row.cache_write_tokens + row.cache_write_1h_tokens;
}

function measured(row: UsageFigures, measure: Measure): number {
  if (measure === 'cost') return row.cost;
  return measure === 'requests' ? row.requests + row.cancelled : tokensIn(row) + row.output_tokens;
}

function OverTime({
  rows,
  period,
  by,
  measure,
  nameOf,
  now,
}: {
  rows: readonly UsageRow[];
  period: Period;
  by: Dimension;
  measure: Measure;
  nameOf: (value: string | null) => string;
  now: number;
}) {
  const [, navigate] = useLocation();
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row[by] ?? '', (sums.get(row[by] ?? '') ?? 0) + measured(row, measure));
  const ranked = [...sums].sort((a, b) => b[1] - a[1]).map(([id]) => id);
  const own = ranked.length > SERIES_MAX + 1 ? ranked.slice(0, SERIES_MAX) : ranked.slice(0, SERIES_MAX + 1);
  const hasOther = own.length < ranked.length;
  const series: Series[] = own.map((id, index) => ({
    id: `s:${id}`,
    name: nameOf(id === '' ? null : id),
    color: index < SERIES_MAX ? `var(--series-${index + 1})` : 'var(--series-other)',
  }));
  if (hasOther) series.push({ id: OTHER, name: `${ranked.length - own.length} others`, color: 'var(--series-other)' });
  const points: Point[] = stepsOf(period, now).map((at) => ({ at, values: {} }));
  const byTime = new Map(points.map((point) => [point.at, point.values as Record<string, number>]));
  for (const row of rows) {
    const values = byTime.get(Date.parse(row[period.step] ?? ''));
    if (values === undefined) continue;
    const id = own.includes(row[by] ?? '') ? `s:${row[by] ?? ''}` : OTHER;
    values[id] = (values[id] ?? 0) + measured(row, measure);
  }
  const open = (at: number, id: string): void => {
    const value = id === OTHER ? null : id.slice(2);
    navigate(
      requestsHref(by, value, {
        since: new Date(at).toISOString(),
        until: new Date(at + stepMs(period)).toISOString(),
      }),
    );
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
          time={(at) => timeText(at, period)}
          open={open}
        />
      </Suspense>
    </>
  );
}

const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

function timeText(at: number, { step }: Period): string {
  return (step === 'hour' ? hours : days).format(at);
}

function requestsHref(by: Dimension, value: string | null, range: { since: string; until?: string }): string {
  const parameters = new URLSearchParams(range);
  if (value !== null && by !== 'format') parameters.set(by, value);
  return `/requests?${parameters}`;
}

function columnsFor(by: Dimension, nameOf: (value: string | null) => string): readonly Column<UsageRow>[] {
  return [
    {
      id: by,
      header: by[0]?.toUpperCase() + by.slice(1),
      value: (row) => nameOf(row[by] ?? null),
    },
    {
      id: 'cost',
      header: 'Spend, credits',
      value: (row) => row.cost,
      cell: (row) => <Credits value={row.cost} />,
      right: true,
    },
    {
      id: 'margin',
      header: 'Margin, credits',
      value: (row) => row.margin ?? 0,
      cell: (row) => row.margin !== null && <Credits value={row.margin} />,
      right: true,
      minor: true,
    },
    {
      id: 'requests',
      header: 'Requests',
      value: (row) => row.requests,
      cell: (row) => count(row.requests),
      right: true,
    },
    {
      id: 'unfinished',
      header: 'Broken off',
      value: (row) => row.broken + row.cancelled,
      cell: (row) => plural(row.broken + row.cancelled, '', '').trim(),
      right: true,
      minor: true,
    },
    { id: 'in', header: 'Tokens in', value: tokensIn, cell: (row) => count(tokensIn(row)), right: true, minor: true },
    {
      id: 'out',
      header: 'Tokens out',
      value: (row) => row.output_tokens,
      cell: (row) => count(row.output_tokens),
      right: true,
      minor: true,
    },
    {
      id: 'first',
      header: 'First byte p50',
      value: (row) => row.first_byte_ms?.p50 ?? null,
      cell: (row) => row.first_byte_ms && milliseconds(row.first_byte_ms.p50),
      right: true,
      minor: true,
    },
    {
      id: 'first95',
      header: 'p95',
      value: (row) => row.first_byte_ms?.p95 ?? null,
      cell: (row) => row.first_byte_ms && milliseconds(row.first_byte_ms.p95),
      right: true,
      minor: true,
    },
    {
      id: 'total95',
      header: 'Took p95',
      value: (row) => row.duration_ms?.p95 ?? null,
      cell: (row) => row.duration_ms && milliseconds(row.duration_ms.p95),
      right: true,
      minor: true,
      hidden: true,
    },
  ];
}
