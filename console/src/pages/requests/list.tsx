/** Requests: what happened just now, and what happened to that one. */
import { Button, Select } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useAccount, useHasAccounts } from '../../api/accounts.ts';
import { nextPage } from '../../api/pages.ts';
import { type Key, useFoundKeys, useKey } from '../../api/queries.ts';
import {
  allRequests,
  CONDITIONS,
  type LoggedRequest,
  REQUEST_FILTERS,
  type RequestFilter,
  useLiveRequests,
  useRequests,
} from '../../api/requests.ts';
import { useSession } from '../../api/session.tsx';
import { Code } from '../../ui/code.tsx';
import { Chips, SearchBox, useFilters } from '../../ui/filters.tsx';
import { count, milliseconds, percent, plural } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page } from '../../ui/page.tsx';
import { OFFERED, useSearch } from '../../ui/search.ts';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, Id, Time } from '../../ui/values.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import { MoreFilters } from './more-filters.tsx';
import { Outcome, outcomeText, providerOf, tokensOf } from './request-format.tsx';
import css from './requests.module.css';
import { Running } from './running.tsx';

const REQUEST_COLUMNS: readonly Column<LoggedRequest>[] = [
  {
    id: 'time',
    header: 'Received',
    value: (request) => request.received_at,
    cell: (request) => (
      <Link href={`/requests/${request.id}`}>
        <Time at={request.received_at} />
      </Link>
    ),
  },
  { id: 'outcome', header: 'Outcome', value: outcomeText, cell: (request) => <Outcome of={request} /> },
  { id: 'model', header: 'Model', value: (request) => request.model, minor: true },
  {
    id: 'key',
    header: 'Key',
    value: (request) => request.key_label ?? request.key_id,
    cell: (request) =>
      request.key_id === null ? undefined : (
        <Link href={`/keys/${request.key_id}`} className={css.link}>
          {request.key_label ?? request.key_id}
        </Link>
      ),
    minor: true,
  },
  { id: 'provider', header: 'Provider', value: providerOf, minor: true },
  {
    id: 'tokens',
    header: 'Tokens',
    value: tokensOf,
    cell: (request) => {
      const tokens = tokensOf(request);
      return tokens === null ? undefined : count(tokens);
    },
    right: true,
    minor: true,
  },
  {
    id: 'cost',
    header: 'Cost, credits',
    value: (request) => (request.cost_nanos === null ? null : Number(request.cost_nanos) / 1e9),
    cell: (request) => (request.cost_nanos === null ? undefined : <Credits value={BigInt(request.cost_nanos)} />),
    right: true,
  },
  {
    id: 'first_byte',
    header: 'First byte',
    value: (request) => request.first_byte_ms,
    unit: 'ms',
    cell: (request) => (request.first_byte_ms === null ? undefined : milliseconds(request.first_byte_ms)),
    right: true,
    minor: true,
  },
  {
    id: 'duration',
    header: 'Took',
    value: (request) => request.duration_ms,
    unit: 'ms',
    cell: (request) => milliseconds(request.duration_ms),
    right: true,
    minor: true,
  },
  { id: 'endpoint', header: 'Endpoint', value: (request) => request.endpoint, minor: true, hidden: true },
  {
    id: 'attempts',
    header: 'Attempts',
    value: (request) => request.attempts.length,
    right: true,
    minor: true,
    hidden: true,
  },
  { id: 'agent', header: 'Client', value: (request) => request.user_agent, minor: true, hidden: true },
  {
    id: 'id',
    header: 'Id',
    value: (request) => request.id,
    cell: (request) => <Id value={request.id} shown={`…${request.id.slice(-8)}`} />,
    minor: true,
  },
];

/** What clients send as an id of their own. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** As the account of requests: of keys that have none. */
const NO_ACCOUNT = 'none';

const LABELS: Readonly<Record<RequestFilter, string>> = {
  status: 'status',
  key: 'key',
  account: 'account',
  below: 'accounts below it',
  model: 'model',
  model_part: 'model with',
  provider: 'provider',
  format: 'format',
  client_request_id: 'client’s own id',
  condition: 'condition',
  since: 'since',
  until: 'until',
  slower_than: 'slower than',
  costlier_than: 'costlier than',
};

export function RequestsPage() {
  const { filters: all, set } = useFilters([...REQUEST_FILTERS, 'live'] as const);
  const { live: liveText, ...filters } = all;
  const live = liveText !== undefined;
  const [, navigate] = useLocation();
  const [search, setSearch] = useState('');
  const stored = useRequests(filters);
  const empty = stored.data?.pages[0]?.data.length === 0;
  const chosen = useKey(filters.key ?? '', 60_000, filters.key !== undefined).data;
  const keySearch = useSearch(nameOf(chosen));
  const keys = useFoundKeys(keySearch.query, OFFERED, keySearch.opened || empty);
  const accountId = filters.account === NO_ACCOUNT ? undefined : filters.account;
  const account = useAccount(accountId ?? '', 60_000, accountId !== undefined).data;
  const hasAccounts = useHasAccounts();
  const { requests: arrived, more: passed } = useLiveRequests(live, filters);
  const seesProviders = useSession().may('get /admin/v1/providers');
  const columns = useMemo(
    () => REQUEST_COLUMNS.filter(({ id }) => id !== 'provider' || seesProviders),
    [seesProviders],
  );
  const before = useMemo(() => stored.data?.pages.flatMap((page) => page.data) ?? [], [stored.data]);
  const rows = useMemo(() => merge(arrived, before), [arrived, before]);
  const fresh = useMemo(() => new Set(arrived.map(({ id }) => id)), [arrived]);
  const filtered = Object.keys(filters).length > 0;
  const find = (text: string): void => {
    setSearch(text);
    const id = text.trim();
    if (/^req_[0-9a-z]{8,}$/i.test(id)) navigate(`/requests/${id}`);
    else if (id !== '') {
      set('client_request_id', UUID.test(id) ? id : null);
      set('model_part', UUID.test(id) ? null : id);
    }
  };
  const offered = new Map(
    [...(chosen === undefined ? [] : [chosen]), ...(keys.data ?? [])].map((key) => [key.id, key]),
  );
  const shownFilters = {
    ...filters,
    ...(filters.key !== undefined && { key: nameOf(chosen) ?? filters.key }),
    ...(filters.condition === 'any' && { condition: 'failed' }),
    ...(filters.account !== undefined && {
      account: account?.name ?? filters.account,
    }),
  };
  return (
    <Page
      wide
      title="Requests"
      answer={rows.length > 0 && <Answer rows={rows} more={stored.hasNextPage} />}
      actions={
        <Button
          variant={live ? 'filled' : 'default'}
          aria-pressed={live}
          leftSection={<span className={live ? css.on : css.off} />}
          onClick={() => set('live', live ? null : '1')}
        >
          Live
        </Button>
      }
    >
      <Failure error={stored.error} retry={() => void stored.refetch()} />
      {passed && (
        <p className={css.none}>More requests end than can be shown live; without Live the list has all of them.</p>
      )}
      <Running />
      {stored.isPending && <Loading rows={10} />}
      {stored.data !== undefined && rows.length === 0 && !filtered && (
        <NoRequests baseUrl={keys.data?.[0]?.base_url} live={live} />
      )}
      {stored.data !== undefined && (rows.length > 0 || filtered) && (
        <DataTable
          name="Requests"
          rows={rows}
          columns={columns}
          rowId={(request) => request.id}
          href={(request) => `/requests/${request.id}`}
          sortable={false}
          marked={(request) => fresh.has(request.id)}
          more={nextPage(stored)}
          everything={stored.hasNextPage ? () => allRequests(filters) : undefined}
          tools={
            <>
              <SearchBox value={search} onChange={find} placeholder="Request id, client’s id, or model" />
              <Select
                size="xs"
                w={120}
                aria-label="Status"
                placeholder="Any status"
                clearable
                data={['2xx', '4xx', '5xx', '402', '429', '502', '503']}
                value={filters.status ?? null}
                onChange={(value) => set('status', value)}
              />
              <Select
                size="xs"
                w={150}
                aria-label="Condition"
                placeholder="Any outcome"
                clearable
                searchable
                data={[{ value: 'any', label: 'Failed' }, ...CONDITIONS]}
                value={filters.condition ?? null}
                onChange={(value) => set('condition', value)}
              />
              <Select
                size="xs"
                w={170}
                aria-label="Key"
                placeholder="Any key"
                clearable
                data={Array.from(offered.values(), (key) => ({ value: key.id, label: key.label ?? key.id }))}
                value={filters.key ?? null}
                onChange={(value) => set('key', value)}
                {...keySearch.select}
              />
              {hasAccounts && (
                <AccountSelect
                  size="xs"
                  w={170}
                  aria-label="Account"
                  placeholder="Any account"
                  clearable
                  value={accountId ?? null}
                  onChange={(value) => set('account', value)}
                />
              )}
              <Select
                size="xs"
                w={130}
                aria-label="Since"
                placeholder="Any time"
                clearable
                data={[
                  { value: '15m', label: 'Last 15 min' },
                  { value: '1h', label: 'Last hour' },
                  { value: '24h', label: 'Last 24 hours' },
                  { value: '7d', label: 'Last 7 days' },
                ]}
                value={filters.since ?? null}
                onChange={(value) => set('since', value)}
              />
              <MoreFilters filters={filters} set={set} seesProviders={seesProviders} />
              <Chips filters={shownFilters} labels={LABELS} onRemove={(name) => set(name, null)} />
            </>
          }
        />
      )}
      {stored.data !== undefined && rows.length === 0 && filtered && (
        <p className={css.none}>No request matches these filters.</p>
      )}
    </Page>
  );
}

function nameOf(key: Key | undefined): string | undefined {
  return key && (key.label ?? key.id);
}

/** A live request may be in the log by now: it is shown once. */
function merge(arrived: readonly LoggedRequest[], stored: readonly LoggedRequest[]): readonly LoggedRequest[] {
  const seen = new Set(arrived.map(({ id }) => id));
  return [...arrived, ...stored.filter(({ id }) => !seen.has(id))];
}

function Answer({ rows, more }: { rows: readonly LoggedRequest[]; more: boolean }) {
  const failed = rows.filter(({ condition }) => condition !== null).length;
  const times = rows.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b);
  return (
    <>
      {more ? 'The newest ' : ''}
      <strong>{plural(rows.length, 'request')}</strong>:{' '}
      {failed === 0 ? (
        'none failed'
      ) : (
        <>
          {failed} failed ({percent(failed, rows.length)})
        </>
      )}
      , half of them took less than{' '}
      <strong className="num">{milliseconds(times[Math.floor(times.length / 2)] ?? 0)}</strong>.
    </>
  );
}

function NoRequests({ baseUrl, live }: { baseUrl: string | undefined; live: boolean }) {
  return (
    <Empty title={live ? 'Waiting for requests…' : 'No requests yet'}>
      <p>Every request with a valid key appears here, whatever its outcome. Send one:</p>
      <div className={css.paste}>
        <Code
          label="A first request"
          text={`curl ${baseUrl ?? 'http://127.0.0.1:8080/v1'}/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"model":"sandbox/alpha","messages":[{"role":"user","content":"Hello!"}]}'`}
        />
      </div>
    </Empty>
  );
}
