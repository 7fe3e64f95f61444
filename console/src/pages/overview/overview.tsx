/** The overview: what was spent, against the period before, by whom and on what. */
import { SegmentedControl, Select } from '@mantine/core';
import { useMemo } from 'react';
import { useAccount, useHasAccounts } from '../../api/accounts.ts';
import { useSession } from '../../api/session.tsx';
import { type UsageQuery, type UsageRow, usageOf, useUsage } from '../../api/usage.ts';
import { Chips, useFilters } from '../../ui/filters.tsx';
import { count } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Failure, Page, Section } from '../../ui/page.tsx';
import { DataTable } from '../../ui/table.tsx';
import { useNow } from '../../ui/values.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import { Failures, NoRequests } from './failures.tsx';
import { Answer, Headline } from './headline.tsx';
import {
  allRequests,
  DIMENSIONS,
  type Dimension,
  dimensionOf,
  fieldOf,
  MEASURES,
  type Measure,
  measured,
  rowHref,
} from './measures.ts';
import { OverTime, SERIES_MAX, type TimedRow } from './over-time.tsx';
import css from './overview.module.css';
import { PeriodChoice } from './period-choice.tsx';
import { type Period, periodOf, reportRange, requestRange, stepOf, type Zone, zoneName } from './periods.ts';
import { columnsFor } from './usage-columns.tsx';

/** What the figures are narrowed to. */
const NARROWED = ['account', 'model', 'provider', 'key'] as const;
const LABELS = { account: 'account', model: 'model', provider: 'provider', key: 'key' } as const;

export function OverviewPage() {
  const { filters: all, set } = useFilters(['period', 'from', 'to', 'zone', 'by', 'show', ...NARROWED] as const);
  const { period: _period, from: _from, to: _to, zone: zoneText, by: byText, show, ...narrowed } = all;
  const { may } = useSession();
  const seesProviders = may('get /admin/v1/providers');
  const hasAccounts = useHasAccounts();
  const dimensions = DIMENSIONS.filter(
    ({ value }) => (value !== 'provider' || seesProviders) && (value !== 'customer' || hasAccounts),
  );
  const period = periodOf(all);
  const zone: Zone = zoneText === 'local' ? 'local' : 'UTC';
  const by = (dimensions.find(({ value }) => value === byText)?.value ?? 'model') as Dimension;
  const measure = (MEASURES.find(({ value }) => value === show)?.value ?? 'cost') as Measure;
  const now = useNow();
  const range = { ...reportRange(period, now, zone), ...narrowed };
  const links = { ...requestRange(period, now, zone), ...narrowed };
  const grouped = by === 'key' ? { by: 'key,label' } : dimensionOf(by);
  const series = useSeries(period, zone, by, measure, range);
  const asked: UsageQuery = { ...range, ...grouped, order: measure };
  const groups = useUsage({ ...asked, top: ROWS_MAX });
  const { since } = range;
  const earlier = period.before && new Date(period.before.begin(now, zone)).toISOString();
  const compared = useUsage({ ...range, since: earlier ?? since, until: links.since }, earlier !== null);
  // What is shown while another is on its way is not of this one.
  const before = earlier === null ? undefined : compared.data?.total;
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
    value === null
      ? by === 'account' || by === 'customer'
        ? 'keys without an account'
        : 'unknown'
      : (names.get(value) ?? value);
  const total = groups.data?.total;
  const ranked = useMemo(
    () => groups.data?.data.toSorted((a, b) => measured(b, measure) - measured(a, measure)) ?? EMPTY,
    [groups.data, measure],
  );
  const empty = total !== undefined && allRequests(total) === 0;
  const account = useAccount(narrowed.account ?? '', 60_000, narrowed.account !== undefined).data;
  return (
    <Page
      title="Overview"
      answer={total && !empty && <Answer now={total} before={before} period={period} zone={zone} range={links} />}
      actions={<PeriodChoice period={period} zone={zone} filters={all} now={now} set={set} />}
    >
      <Failure error={groups.error ?? series.error} retry={() => void groups.refetch()} />
      <div className={css.narrowed}>
        {hasAccounts && (
          <AccountSelect
            size="xs"
            w={200}
            aria-label="Account"
            placeholder="All accounts"
            clearable
            value={narrowed.account ?? null}
            onChange={(value) => set('account', value)}
          />
        )}
        <Chips
          filters={{ ...narrowed, ...(account !== undefined && { account: account.name }) }}
          labels={LABELS}
          onRemove={(name) => set(name, null)}
        />
      </div>
      {groups.isPending && <Loading rows={3} height={90} />}
      {empty && <NoRequests period={period} range={links} withoutKey={groups.data?.without_key} />}
      {total && !empty && (
        <>
          <Headline now={total} before={before} range={links} />
          <Section
            title={MEASURES.find(({ value }) => value === measure)?.label}
            note={`per ${period.step} (${zoneName(zone)})`}
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
              zone={zone}
              by={by}
              measure={measure}
              narrowed={narrowed}
              nameOf={nameOf}
              now={now}
            />
          </Section>
          <Section>
            <DataTable
              name={`Usage by ${by}`}
              rows={ranked}
              columns={columnsFor(by, nameOf, seesProviders)}
              rowId={(row) => String(row[fieldOf(by)])}
              everything={
                ranked.length < ROWS_MAX
                  ? undefined
                  : async () => {
                      const { data: rows } = await usageOf({ ...asked, top: EXPORTED_MAX });
                      return { rows, rest: rows.length < EXPORTED_MAX ? null : 'ask for a shorter time' };
                    }
              }
              href={(row) => rowHref(by, row[fieldOf(by)] ?? null, links, all)}
            />
            {ranked.length >= ROWS_MAX && (
              <p className={css.rest}>These are the {count(ROWS_MAX)} with the most; the CSV file has the others.</p>
            )}
          </Section>
          <Failures total={total} withoutKey={groups.data?.without_key} range={links} />
        </>
      )}
    </Page>
  );
}

const EMPTY: readonly UsageRow[] = [];
/** Groups in the table. */
const ROWS_MAX = 300;
/** In its CSV: as many as a report has. */
const EXPORTED_MAX = 10_000;

/**
 * The figures of each hour, day or month: of the groups with the most, and of all together, whose rest is that of the
 * others. A report has no months: its days are put together.
 */
function useSeries(period: Period, zone: Zone, by: Dimension, order: Measure, range: UsageQuery) {
  const step = period.step === 'hour' ? 'hour' : 'day';
  const dimension = dimensionOf(by);
  const groups = useUsage({ ...range, ...dimension, by: `${step},${dimension.by}`, top: SERIES_MAX + 1, order });
  const all = useUsage({ ...range, by: step });
  const rows = useMemo(() => timed(groups.data?.data, period, zone), [groups.data, period, zone]);
  const total = useMemo(() => timed(all.data?.data, period, zone), [all.data, period, zone]);
  return { rows, total, error: groups.error ?? all.error };
}

function timed(rows: readonly UsageRow[] | undefined, period: Period, zone: Zone): readonly TimedRow[] {
  return rows?.map((row) => ({ ...row, at: stepOf(period, row, zone) })) ?? [];
}
