/** What a signed-in key holder sees. */
import { Button } from '@mantine/core';
import { Snippets } from '../pages/keys/snippets.tsx';
import { count, exactCredits, milliseconds, plural, shortCredits } from '../ui/format.ts';
import { Meter } from '../ui/meter.tsx';
import { Empty, Facts, Failure, Page, Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Credits, Dot, Id, Time, Tokens } from '../ui/values.tsx';
import type { KeyholderRequest, KeyholderView } from './api.ts';
import css from './figures.module.css';
import { KeyStatement } from './statement.tsx';

type Mode = KeyholderView['key']['mode'];
type Running = KeyholderView['running'][number];
type UsageRow = KeyholderView['usage'][number];

function text(mode: Mode, amount: string | null, exact = true): string {
  if (amount === null) return 'unlimited';
  if (mode === 'token_budget') return plural(BigInt(amount), 'token');
  return `${(exact ? exactCredits : shortCredits)(BigInt(amount))} credits`;
}

function Amount({ mode, value }: { mode: Mode; value: string }) {
  return mode === 'credit' ? <Credits value={BigInt(value)} /> : <Tokens value={BigInt(value)} />;
}

export function KeyFigures({
  view,
  error,
  busy,
  renew,
  leave,
}: {
  view: KeyholderView;
  error: Error | null;
  busy: boolean;
  renew: () => void;
  leave: () => void;
}) {
  const { key, balance, access } = view;
  const { mode } = key;
  return (
    <Page
      title={key.label ?? `${key.prefix}…`}
      answer={
        <>
          <strong>{text(mode, balance.left, false)}</strong> left
          {balance.limited_by === 'account'
            ? ', by the limit of this key’s account'
            : balance.all !== null && ` of ${text(mode, balance.all, false)}`}
          ; {view.live_holds === 0 ? 'nothing is held' : `${text(mode, balance.held)} held`}.
        </>
      }
      actions={
        <>
          <Button variant="default" loading={busy} onClick={renew}>
            Refresh
          </Button>
          <Button variant="subtle" onClick={leave}>
            Sign out
          </Button>
        </>
      }
    >
      <Failure error={error} />
      {balance.all !== null && BigInt(balance.all) > 0n && (
        <Meter
          all={Number(balance.all)}
          used={Number(balance.used)}
          held={Number(balance.held)}
          texts={{ used: text(mode, balance.used), held: text(mode, balance.held), left: text(mode, balance.left) }}
        />
      )}
      <Facts
        items={[
          ['Key', <code key="prefix">{key.prefix}…</code>],
          [
            'Status',
            <Dot key="status" tone={key.status === 'active' ? 'ok' : 'warn'}>
              {key.status[0]?.toUpperCase() + key.status.slice(1)}
            </Dot>,
          ],
          balance.today !== null && ['Spent today', text(mode, balance.today)],
          key.period_ends_at !== null && ['Period ends', <Time key="period" at={key.period_ends_at} />],
          ['Rate limit', key.rpm_limit === null ? 'none' : `${count(key.rpm_limit)} requests per minute`],
          ['Models', key.models === null ? 'all' : key.models.join(', ')],
          ['Expires', key.expires_at === null ? 'never' : <Time key="expires" at={key.expires_at} />],
          ['Signed in until', <Time key="until" at={view.session_ends_at} />],
        ]}
      />
      {view.live_holds > 0 && <Held view={view} />}
      <Usage view={view} />
      <Requests mode={mode} rows={view.requests} />
      {mode === 'credit' && <KeyStatement />}
      <Section title="Use it" note="Replace the prefix with the whole key.">
        <Snippets baseUrl={access.base_url} origin={access.origin} secret={`${key.prefix}…`} model={access.model} />
      </Section>
    </Page>
  );
}

function Held({ view: { key, live_holds: all, running, balance } }: { view: KeyholderView }) {
  const columns: readonly Column<Running>[] = [
    { id: 'id', header: 'Request', value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
    { id: 'model', header: 'Model', value: ({ model }) => model },
    {
      id: 'age',
      header: 'Runs for',
      value: ({ age_ms }) => age_ms,
      cell: ({ age_ms }) => milliseconds(age_ms),
      right: true,
    },
    {
      id: 'held',
      header: `Held, ${key.mode === 'credit' ? 'credits' : 'tokens'}`,
      value: ({ held }) => BigInt(held),
      cell: ({ held }) => <Amount mode={key.mode} value={held} />,
      right: true,
    },
  ];
  return (
    <Section
      title="Held"
      note={`${text(key.mode, balance.held)} until ${plural(all, 'running request')} ${all === 1 ? 'ends' : 'end'}. What is not used is given back.`}
    >
      {running.length > 0 && (
        <DataTable name="Running requests" rows={running} columns={columns} rowId={({ id }) => id} />
      )}
      {running.length < all && (
        <p className="muted">{plural(all - running.length, 'request')} of it on other processes.</p>
      )}
    </Section>
  );
}

function Usage({ view: { key, usage } }: { view: KeyholderView }) {
  const { mode } = key;
  if (usage.length === 0) {
    return (
      <Section title="Usage">
        <Empty title="Nothing was used in the last 30 days">
          Send a first request: the lines are at the end of this page.
        </Empty>
      </Section>
    );
  }
  const columns: readonly Column<UsageRow>[] = [
    { id: 'day', header: 'Day (UTC)', value: ({ day }) => day },
    { id: 'model', header: 'Model', value: ({ model }) => model },
    {
      id: 'charged',
      header: `Charged, ${mode === 'credit' ? 'credits' : 'tokens'}`,
      value: ({ charged }) => BigInt(charged),
      cell: ({ charged }) => <Amount mode={mode} value={charged} />,
      right: true,
    },
    { id: 'requests', header: 'Requests', value: ({ requests }) => requests, right: true, minor: true },
    {
      id: 'in',
      header: 'Tokens in',
      value: (row) => row.input_tokens,
      cell: (row) => count(row.input_tokens),
      right: true,
      minor: true,
    },
    {
      id: 'out',
      header: 'Tokens out',
      value: (row) => row.output_tokens,
      cell: (row) => count(row.output_tokens),
      right: true,
      minor: true,
    },
  ];
  return (
    <Section title="Usage" note="Charges of the last 30 days.">
      <Days mode={mode} rows={usage} />
      <DataTable
        name="Usage by day and model"
        rows={usage.toReversed()}
        columns={columns}
        rowId={({ day, model }) => `${day} ${model}`}
      />
    </Section>
  );
}

const DAY_MS = 86_400_000;

/** One bar per day; the table below has the figures. */
function Days({ mode, rows }: { mode: Mode; rows: readonly UsageRow[] }) {
  const sums = new Map<string, bigint>();
  for (const { day, charged } of rows) sums.set(day, (sums.get(day) ?? 0n) + BigInt(charged));
  const today = Math.floor(Date.now() / DAY_MS);
  const days = Array.from({ length: 30 }, (_, index) =>
    new Date((today - 29 + index) * DAY_MS).toISOString().slice(0, 10),
  );
  const most = [...sums.values()].reduce((largest, sum) => (sum > largest ? sum : largest), 1n);
  return (
    <div className={css.days} aria-hidden="true">
      {days.map((day) => {
        const sum = sums.get(day) ?? 0n;
        return (
          <div key={day} className={css.day} title={`${day}: ${text(mode, String(sum))}`}>
            <span style={{ height: `${Number((sum * 1000n) / most) / 10}%` }} />
          </div>
        );
      })}
    </div>
  );
}

function Requests({ mode, rows }: { mode: Mode; rows: readonly KeyholderRequest[] | null }) {
  if (rows === null) {
    return (
      <Section title="Recent requests">
        <p className="muted">This gateway keeps no request log.</p>
      </Section>
    );
  }
  if (rows.length === 0) return null;
  const failed = rows.filter(({ condition }) => condition !== null);
  const columns: readonly Column<KeyholderRequest>[] = [
    { id: 'at', header: 'When', value: (row) => row.received_at, cell: (row) => <Time at={row.received_at} /> },
    {
      id: 'outcome',
      header: 'Outcome',
      value: (row) => row.condition ?? row.status,
      cell: (row) => (
        <Dot tone={row.condition === null ? 'ok' : 'warn'}>
          {row.status ?? ''} {row.condition?.replaceAll('_', ' ') ?? ''}
        </Dot>
      ),
    },
    { id: 'model', header: 'Model', value: (row) => row.model, minor: true },
    {
      id: 'charged',
      header: `Charged, ${mode === 'credit' ? 'credits' : 'tokens'}`,
      value: (row) => (row.charged === null ? null : BigInt(row.charged)),
      cell: (row) => row.charged !== null && <Amount mode={mode} value={row.charged} />,
      right: true,
    },
    {
      id: 'tokens',
      header: 'Tokens in / out',
      value: (row) => row.input_tokens,
      cell: (row) => row.input_tokens !== null && `${count(row.input_tokens)} / ${count(row.output_tokens ?? 0)}`,
      right: true,
      minor: true,
    },
    {
      id: 'took',
      header: 'Took',
      value: (row) => row.duration_ms,
      cell: (row) => milliseconds(row.duration_ms),
      right: true,
      minor: true,
    },
    { id: 'id', header: 'Request id', value: (row) => row.id, cell: (row) => <Id value={row.id} />, minor: true },
  ];
  return (
    <Section title="Recent requests" note="The last 50 of this key.">
      <DataTable name="Recent requests" rows={rows} columns={columns} rowId={({ id }) => id} sortable={false} />
      {failed.length > 0 && <Problems rows={failed} />}
    </Section>
  );
}

/** Each kind of failure once, with what to do. */
function Problems({ rows }: { rows: readonly KeyholderRequest[] }) {
  const kinds = Map.groupBy(rows, ({ condition }) => condition ?? '');
  return (
    <div className={css.problems}>
      {[...kinds].map(([condition, [newest, ...others]]) => (
        <div key={condition}>
          <h3>
            {condition.replaceAll('_', ' ')} <span className="muted">{plural(others.length + 1, 'time')}</span>
          </h3>
          {newest?.message && <p>{newest.message}</p>}
          {newest?.advice && <p className="muted">{newest.advice.replaceAll('`', '')}</p>}
        </div>
      ))}
    </div>
  );
}
