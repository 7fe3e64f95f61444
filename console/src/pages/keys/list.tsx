/** All keys: who can spend how much. */
import { Button } from '@mantine/core';
import { useCallback, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type CreatedKey, everyKey, type Key, type KeyFilters, useKeyPages } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { SearchBox, StatusSelect, searchOf, useFilters } from '../../ui/filters.tsx';
import { headlineCredits, nanosOf, plural } from '../../ui/format.ts';
import { IconPlus } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, Id, Time, Tokens } from '../../ui/values.tsx';
import { ImportKeys } from './import-keys.tsx';
import { CreateKey } from './key-form.tsx';
import { Amount, balanceOf, KeyStatus, keyName, limitText } from './key-format.tsx';
import css from './keys.module.css';
import { NewSecret } from './secret.tsx';

const STATUSES = ['active', 'suspended', 'disabled', 'expired', 'revoked'] as const;

const COLUMNS: readonly Column<Key>[] = [
  {
    id: 'name',
    header: 'Name',
    value: keyName,
    cell: (key) => (
      <Link href={`/keys/${key.id}`} className={css.name}>
        {keyName(key)}
      </Link>
    ),
  },
  {
    id: 'prefix',
    header: 'Secret',
    value: (key) => key.prefix,
    cell: (key) => <Id value={key.prefix} shown={`${key.prefix}…`} copy={false} />,
    minor: true,
  },
  {
    id: 'account',
    header: 'Account',
    value: (key) => key.account_name ?? key.account ?? null,
    cell: (key) =>
      key.account !== undefined && (
        <Link href={`/accounts/${key.account}`} className={css.account}>
          {key.account_name ?? key.account}
        </Link>
      ),
    minor: true,
  },
  { id: 'status', header: 'Status', value: (key) => key.status, cell: (key) => <KeyStatus status={key.status} /> },
  {
    id: 'remaining',
    header: 'Left',
    value: (key) => balanceOf(key).left,
    unit: unitOf,
    cell: (key) => <Left of={key} />,
    right: true,
  },
  {
    id: 'held',
    header: 'Held',
    value: (key) => key.reserved,
    unit: unitOf,
    cell: (key) => (key.reserved === 0 ? <span className="muted">–</span> : <Amount of={key} value={key.reserved} />),
    right: true,
    minor: true,
  },
  {
    id: 'used',
    header: 'Used',
    value: (key) => key.used,
    unit: unitOf,
    cell: (key) => <Amount of={key} value={key.used} />,
    right: true,
    minor: true,
  },
  {
    id: 'today',
    header: 'Today',
    value: (key) => (key.mode === 'credit' ? key.today_spend : null),
    unit: 'credits',
    cell: (key) => (key.mode === 'credit' ? <Credits value={key.today_spend} /> : undefined),
    right: true,
    minor: true,
    hidden: true,
  },
  {
    id: 'requests',
    header: 'Requests',
    value: (key) => key.requests,
    cell: (key) => <Tokens value={key.requests} />,
    right: true,
    minor: true,
  },
  { id: 'limit', header: 'Rate limit', value: limitText, minor: true, hidden: true },
  { id: 'models', header: 'Models', value: (key) => key.models?.join(' ') ?? 'all', minor: true, hidden: true },
  { id: 'scope', header: 'Provider', value: (key) => key.provider_scope, minor: true, hidden: true },
  {
    id: 'expires',
    header: 'Expires',
    value: (key) => key.expires_at,
    cell: (key) => <Time at={key.expires_at} />,
    minor: true,
    hidden: true,
  },
  {
    id: 'created',
    header: 'Created',
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} />,
    right: true,
    minor: true,
  },
  { id: 'id', header: 'Id', value: (key) => key.id, cell: (key) => <Id value={key.id} />, minor: true, hidden: true },
];

function unitOf({ mode }: Key): string {
  return mode === 'credit' ? 'credits' : 'tokens';
}

function Left({ of }: { of: Key }) {
  const { left } = balanceOf(of);
  if (left === null && of.account !== undefined) return <span className="muted">its account</span>;
  return (
    <>
      <Amount of={of} value={left} />{' '}
      {left !== null && <span className={css.unit}>{of.mode === 'credit' ? 'cr' : 'tok'}</span>}
    </>
  );
}

export function KeysPage() {
  const { may, mayWrite } = useSession();
  const [importing, setImporting] = useState(false);
  const { filters, set } = useFilters(['q', 'status', 'create', 'account'] as const);
  const wanted: KeyFilters = searchOf(filters, STATUSES);
  const filtered = Object.keys(wanted).length > 0;
  const { keys, all, more, error, isPending, refetch } = useKeyPages(wanted);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const [, navigate] = useLocation();
  const search = useCallback((text: string) => set('q', text), [set]);
  const create = mayWrite && (
    <Button leftSection={<IconPlus size={14} />} data-key="c" onClick={() => set('create', '1')}>
      Create key
    </Button>
  );
  return (
    <Page
      title="Keys"
      answer={keys && !filtered && <Answer keys={keys} all={all} />}
      actions={
        <>
          {may('post /admin/v1/keys/import') && (
            <Button variant="default" onClick={() => setImporting(true)}>
              Import
            </Button>
          )}
          {create}
        </>
      }
    >
      <Failure error={error} retry={() => void refetch()} />
      {isPending && <Loading rows={8} />}
      {keys?.length === 0 && !filtered && (
        <Empty title="No keys yet" action={create}>
          A key is what an application sends with every request. It has a balance of its own, and can never spend more.
        </Empty>
      )}
      {keys !== undefined && (keys.length > 0 || filtered) && (
        <DataTable
          name="Keys"
          rows={keys}
          columns={COLUMNS}
          rowId={(key) => key.id}
          href={(key) => `/keys/${key.id}`}
          // In the order in which they come, as long as not all are there.
          sortable={all}
          more={more}
          everything={all ? undefined : () => everyKey(wanted)}
          tools={
            <>
              <SearchBox value={filters.q ?? ''} onChange={search} placeholder="Name, prefix or id" />
              <StatusSelect statuses={STATUSES} value={filters.status} onChange={(status) => set('status', status)} />
            </>
          }
        />
      )}
      {filters.create !== undefined && mayWrite && (
        <CreateKey
          account={filters.account ?? null}
          close={() => set('create', null)}
          created={(key) => {
            set('create', null);
            setCreated(key);
          }}
        />
      )}
      {importing && <ImportKeys close={() => setImporting(false)} />}
      {created !== null && (
        <NewSecret
          created={created}
          close={() => {
            setCreated(null);
            navigate(`/keys/${created.id}`);
          }}
        />
      )}
    </Page>
  );
}

function Answer({ keys, all }: { keys: readonly Key[]; all: boolean }) {
  if (!all) {
    return (
      <>
        The newest <strong>{plural(keys.length, 'key')}</strong>; the others by scrolling, or by a search.
      </>
    );
  }
  const active = keys.filter((key) => key.status === 'active').length;
  const credit = keys.filter((key) => key.mode === 'credit' && key.status === 'active' && key.account === undefined);
  const ofAccounts = keys.filter((key) => key.account !== undefined && key.status === 'active').length;
  const left = credit.reduce((sum, key) => sum + nanosOf(key.remaining ?? 0), 0n);
  const held = credit.reduce((sum, key) => sum + nanosOf(key.reserved), 0n);
  return (
    <>
      <strong>{plural(keys.length, 'key')}</strong>, {active} active;{' '}
      <strong className="num">{headlineCredits(left)} credits</strong> left on their own balances
      {held > 0n && <>, {headlineCredits(held)} more held by running requests</>}
      {ofAccounts > 0 && <>; {ofAccounts} of them spend from an account</>}.
    </>
  );
}
