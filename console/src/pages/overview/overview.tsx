/** The overview: what was spent, against the period before, by whom and on what. */
import { SegmentedControl, Select } from '@mantine/core';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { useFoundKeys } from '../../api/queries.ts';
import { useRunning } from '../../api/requests.ts';
import { useSession } from '../../api/session.tsx';
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
  shortCount,
  shortCredits,
} from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { DataTable } from '../../ui/table.tsx';
import { useNow } from '../../ui/values.tsx';
import { DIMENSIONS, type Dimension, MEASURES, type Measure, measured, requestsHref, tokensIn } from './measures.ts';
import { OverTime, SERIES_MAX, type TimedRow } from './over-time.tsx';
import css from './overview.module.css';
import { beginBefore, beginOf, PERIODS, type Period, stepOf } from './periods.ts';
import { columnsFor } from './usage-columns.tsx';

export function OverviewPage() {
  const { filters, set } = useFilters(['period', 'by', 'show'] as const);
  const { may } = useSession();
  const seesProviders = may('get /admin/v1/providers');
  const dimensions = DIMENSIONS.filter(({ value }) => value !== 'provider' || seesProviders);
  const period = PERIODS.find(({ id }) => id === filters.period) ?? (PERIODS[2] as Period);
  const by = (dimensions.find(({ value }) => value === filters.by)?.value ?? 'model') as Dimension;
  const measure = (MEASURES.find(({ value }) => value === filters.show)?.value ?? 'cost') as Measure;
  const now = useNow();
  const begin = beginOf(period, now);
  const series = useSeries(period, by, measure, now);
  const groups = useUsage({ by: by === 'key' ? 'key,label' : by, since: begin, top: ROWS_MAX, order: measure });
  const before = useUsage({ since: beginBefore(period, now), until: begin });
  const names = useMemo(
    () =>
      new Map(
        groups.data?.data.flatMap(({ key, label, account, account_name }) => [
          [key, label ?? key],
          [account, account_name ?? account],
        ]),
      ),
    [groups.data],
  );
  const nameOf = (value: string | null): string =>
    value === null ? (by === 'account' ? 'keys without an account' : 'unknown') : (names.get(value) ?? value);
  const total = groups.data?.total;
  const ranked = useMemo(
    () => groups.data?.data.toSorted((a, b) => measured(b, measure) - measured(a, measure)) ?? EMPTY,
    [groups.data, measure],
  );
  const empty = total !== undefined && total.requests === 0 && total.cancelled === 0;
  const newest = useFoundKeys('', 1, empty);
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
              text={`curl ${newest.data?.[0]?.base_url ?? 'http://127.0.0.1:8080/v1'}/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"model":"sandbox/alpha","messages":[{"role":"user","content":"Hello!"}]}'`}
            />
          </div>
        </Empty>
      )}
      {total && !empty && (
        <>
          <Headline now={total} before={before.data?.total} since={begin} />
          <Section
            title={MEASURES.find(({ value }) => value === measure)?.label}
            note={period.step === 'hour' ? 'per hour' : `per ${period.step} (UTC)`}
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
                  data={dimensions}
                  value={by}
                  onChange={(value) => set('by', value)}
                />
              </>
            }
          >
            <OverTime
              rows={series.rows}
              total={series.total}
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
              rows={ranked}
              columns={columnsFor(by, nameOf, seesProviders)}
              rowId={(row) => String(row[by])}
              href={(row) => requestsHref(by, row[by] ?? null, { since: begin })}
            />
            {ranked.length >= ROWS_MAX && (
              <p className={css.rest}>
                These are the {count(ROWS_MAX)} with the most. <code>gateway usage --by {by}</code> has the others.
              </p>
            )}
          </Section>
        </>
      )}
    </Page>
  );
}

const EMPTY: readonly UsageRow[] = [];
/** Groups in the table. */
const ROWS_MAX = 300;

/**
 * The figures of each hour, day or month: of the groups with the most, and of all together, whose rest is that of the
 * others. A report has no months: its days are put together.
 */
function useSeries(period: Period, by: Dimension, order: Measure, now: number) {
  const step = period.step === 'hour' ? 'hour' : 'day';
  const since = beginOf(period, now);
  const groups = useUsage({ by: `${step},${by}`, since, top: SERIES_MAX + 1, order });
  const all = useUsage({ by: step, since });
  const rows = useMemo(() => timed(groups.data?.data, period), [groups.data, period]);
  const total = useMemo(() => timed(all.data?.data, period), [all.data, period]);
  return { rows, total, error: groups.error ?? all.error };
}

function timed(rows: readonly UsageRow[] | undefined, period: Period): readonly TimedRow[] {
  return rows?.map((row) => ({ ...row, at: stepOf(period, Date.parse(row.hour ?? row.day ?? '')) })) ?? [];
}

function Answer({ now, before, period }: { now: UsageFigures; before: UsageFigures | undefined; period: Period }) {
  const spent = nanosOf(now.cost);
  const unfinished = now.broken + now.cancelled;
  return (
    <>
      <strong className="num">{headlineCredits(spent)} credits</strong> spent {period.words}
      {before && before.cost > 0 && `, ${change(now.cost, before.cost)} in ${period.before}`}
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

/** Beyond it, a percentage says less than how many times as much it is. */
const TIMES_FROM = 10;

function change(now: number, before: number): string {
  if (now / before >= TIMES_FROM) return `${count(Math.round(now / before))} times as much as`;
  const percentage = Math.round(Math.abs(now / before - 1) * 100);
  if (percentage === 0) return 'the same as';
  return `${count(percentage)} % ${now > before ? 'more' : 'less'} than`;
}

/** Three figures that matter; what belongs to each stands below it. */
function Headline({ now, before, since }: { now: UsageFigures; before: UsageFigures | undefined; since: string }) {
  const running = useRunning();
  const held = (running.data ?? [])
    .filter(({ mode }) => mode === 'credit')
    .reduce((sum, { held: nanos }) => sum + BigInt(nanos), 0n);
  const requests = `/requests?since=${since}`;
  const first = now.first_byte_ms;
  const whole = now.duration_ms;
  return (
    <div className={css.figures}>
      <Figure
        name="Spend"
        value={headlineCredits(nanosOf(now.cost))}
        unit="credits"
        delta={before && <Delta now={now.cost} before={before.cost} />}
        href={requests}
      >
        {now.provider_cost !== null &&
          now.margin !== null &&
          `Provider cost ${shortCredits(nanosOf(now.provider_cost))}; margin ${shortCredits(nanosOf(now.margin))}`}
      </Figure>
      <Figure
        name="Requests"
        value={count(now.requests)}
        unit=""
        delta={before && <Delta now={now.requests} before={before.requests} />}
        href={requests}
      >
        {shortCount(tokensIn(now))} tokens in, {shortCount(now.output_tokens)} out
      </Figure>
      <Figure
        name="First byte, median"
        value={first === null ? '–' : milliseconds(first.p50)}
        unit=""
        href={first === null ? requests : `${requests}&slower_than=${first.p50}ms`}
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
  if (now / before >= TIMES_FROM) return <span className={css.delta}>× {count(Math.round(now / before))}</span>;
  const value = Math.round((now / before - 1) * 100);
  return (
    <span className={css.delta}>
      {value > 0 ? '+' : value < 0 ? '−' : '±'}
      {count(Math.abs(value))} %
    </span>
  );
}
