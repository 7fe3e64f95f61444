/** Accounts: who pays, and what of it is left, as a tree. Customers come a page at a time, what is below one when it is opened. */
import { ActionIcon, Button } from '@mantine/core';
import { createContext, useCallback, useContext, useMemo, useState } from 'react';
import { Link } from 'wouter';
import {
  type Account,
  type AccountFilters,
  BELOW_SHOWN,
  type Below,
  everyAccount,
  NO_PARENT,
  useAccountPages,
  useBelow,
} from '../../api/accounts.ts';
import { useSession } from '../../api/session.tsx';
import { SearchBox, StatusSelect, searchOf, useFilters } from '../../ui/filters.tsx';
import { headlineCredits, nanosOf, plural } from '../../ui/format.ts';
import { IconClosed, IconOpen, IconPlus } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, Id, Time } from '../../ui/values.tsx';
import { AddCredit } from '../money/money-dialogs.tsx';
import { CreateAccount } from './account-form.tsx';
import { AccountStatus, capText } from './account-format.tsx';
import css from './accounts.module.css';

const STATUSES = ['active', 'suspended', 'closed'] as const;
/** Up to so many customers with accounts below them, these are shown until somebody closes one. */
const OPEN_AT_FIRST = 10;
/** As `open` in the address: none is. */
const NONE_OPEN = 'none';

interface Node {
  readonly account: Account;
  readonly depth: number;
  /** Whether what is below it is shown; null in a list without a tree. */
  readonly below: 'open' | 'closed' | 'nothing' | null;
}

/** Every account, with what is below it where it is open. */
function inTree(
  accounts: readonly Account[],
  open: ReadonlySet<string>,
  below: ReadonlyMap<string, Below>,
  depth = 0,
): readonly Node[] {
  return accounts.flatMap((account): readonly Node[] => {
    if (!account.is_parent) return [{ account, depth, below: 'nothing' }];
    if (!open.has(account.id)) return [{ account, depth, below: 'closed' }];
    const inside = below.get(account.id)?.accounts ?? [];
    return [{ account, depth, below: 'open' }, ...inTree(inside, open, below, depth + 1)];
  });
}

/** As the CSV file has it: its customer is a column. */
function inNoTree(account: Account): Node {
  return { account, depth: 0, below: null };
}

function hrefOf({ id }: Account): string {
  return `/accounts/${id}`;
}

/** Opens a row that is closed, and closes one that is open. */
const Toggle = createContext<(id: string) => void>(() => {});

function Name({ of: { account, depth, below } }: { of: Node }) {
  const toggle = useContext(Toggle);
  return (
    <span className={css.name} style={{ paddingLeft: depth * 20 }}>
      {below === 'nothing' && <span className={css.leaf} />}
      {(below === 'open' || below === 'closed') && (
        <ActionIcon
          size={20}
          aria-label={`Accounts below ${account.name}`}
          aria-expanded={below === 'open'}
          onClick={() => toggle(account.id)}
        >
          {below === 'open' ? <IconOpen size={12} /> : <IconClosed size={12} />}
        </ActionIcon>
      )}
      <Link href={hrefOf(account)}>{account.name}</Link>
      {below === null && account.parent !== null && <span className="muted">of {account.root_name}</span>}
    </span>
  );
}

const COLUMNS: readonly Column<Node>[] = [
  { id: 'name', header: 'Name', value: ({ account }) => account.name, cell: (node) => <Name of={node} /> },
  {
    id: 'status',
    header: 'Status',
    value: ({ account }) => account.status,
    cell: ({ account }) => <AccountStatus of={account} />,
  },
  {
    id: 'balance',
    header: 'Balance, credits',
    value: ({ account }) => account.balance,
    cell: ({ account }) => account.balance !== null && <Credits value={account.balance} />,
    right: true,
  },
  {
    id: 'held',
    header: 'Held, credits',
    value: ({ account }) => account.reserved,
    cell: ({ account }) =>
      account.reserved === 0 ? <span className="muted">–</span> : <Credits value={account.reserved} />,
    right: true,
    minor: true,
  },
  {
    id: 'used',
    header: 'Used, credits',
    value: ({ account }) => account.used,
    cell: ({ account }) => <Credits value={account.used} />,
    right: true,
    minor: true,
  },
  { id: 'cap', header: 'Cap', value: ({ account }) => capText(account), right: true, minor: true },
  {
    id: 'customer',
    header: 'Customer',
    value: ({ account }) => (account.parent === null ? account.name : account.root_name),
    minor: true,
    hidden: true,
  },
  { id: 'external', header: 'Your id', value: ({ account }) => account.external_id, minor: true, hidden: true },
  {
    id: 'created',
    header: 'Created',
    value: ({ account }) => account.created_at,
    cell: ({ account }) => <Time at={account.created_at} />,
    right: true,
    minor: true,
  },
  {
    id: 'id',
    header: 'Id',
    value: ({ account }) => account.id,
    cell: ({ account }) => <Id value={account.id} shown={`…${account.id.slice(-8)}`} />,
    minor: true,
  },
];

export function AccountsPage() {
  const { session, mayWrite, mayOperate } = useSession();
  const { filters, set } = useFilters(['q', 'status', 'open'] as const);
  const wanted: AccountFilters = searchOf(filters, STATUSES);
  const filtered = Object.keys(wanted).length > 0;
  const { accounts, all, more, error, isPending, refetch } = useAccountPages(filtered ? wanted : { parent: NO_PARENT });
  const { rows, toggle, cut } = useTree(filtered, accounts, all, filters.open, (open) => set('open', open));
  const [dialog, setDialog] = useState<'create' | 'credit' | null>(null);
  const search = useCallback((text: string) => set('q', text), [set]);
  const create = mayWrite && (
    <Button leftSection={<IconPlus size={14} />} data-key="c" onClick={() => setDialog('create')}>
      Create account
    </Button>
  );
  const isEmpty = accounts?.length === 0 && !filtered;
  return (
    <Page
      title="Accounts"
      answer={accounts && !isEmpty && !filtered && <Answer roots={accounts} all={all} />}
      actions={
        <>
          {mayOperate && accounts !== undefined && !isEmpty && (
            <Button variant="default" onClick={() => setDialog('credit')}>
              Add credit
            </Button>
          )}
          {create}
        </>
      }
    >
      <Failure error={error} retry={() => void refetch()} />
      {isPending && <Loading />}
      {isEmpty && (
        <Empty title="No accounts yet" action={create}>
          An account is a customer, with teams below it. It buys the credit that every key below it spends, and a cap at
          any level holds for everything under it. A key without an account has a balance of its own.
        </Empty>
      )}
      {accounts !== undefined && !isEmpty && (
        <Toggle value={toggle}>
          <DataTable
            name="Accounts"
            rows={rows}
            columns={COLUMNS}
            rowId={({ account }) => account.id}
            href={({ account }) => hrefOf(account)}
            sortable={false}
            more={more}
            everything={async () => {
              const { rows, rest } = await everyAccount(wanted);
              return { rows: rows.map(inNoTree), rest };
            }}
            tools={
              <>
                <SearchBox value={filters.q ?? ''} onChange={search} placeholder="Name, id or your id" />
                <StatusSelect statuses={STATUSES} value={filters.status} onChange={(status) => set('status', status)} />
              </>
            }
          />
        </Toggle>
      )}
      {cut.map(({ id, name }) => (
        <p key={id} className={css.rest}>
          Below {name} are more than {BELOW_SHOWN} accounts: <Link href={`/accounts/${id}`}>its page</Link> has them
          all.
        </p>
      ))}
      {dialog === 'create' && (
        <CreateAccount below={session?.operator.account_id ?? null} close={() => setDialog(null)} />
      )}
      {dialog === 'credit' && <AddCredit close={() => setDialog(null)} />}
    </Page>
  );
}

/** What was found has no tree. Which rows are open is in the address, so that the way back leads to the same view. */
function useTree(
  filtered: boolean,
  accounts: readonly Account[] = NO_ACCOUNTS,
  all: boolean,
  opened: string | undefined,
  setOpened: (open: string) => void,
) {
  const open = useMemo(() => {
    if (filtered) return [];
    if (opened !== undefined) return opened.split(',').filter((id) => id !== NONE_OPEN);
    const parents = accounts.filter((account) => account.is_parent).map(({ id }) => id);
    return all && parents.length <= OPEN_AT_FIRST ? parents : [];
  }, [filtered, accounts, all, opened]);
  const below = useBelow(open);
  const rows = useMemo(() => {
    const isTree = !filtered && accounts.some((account) => account.is_parent);
    if (isTree) return inTree(accounts, new Set(open), below);
    return accounts.map((account): Node => ({ account, depth: 0, below: null }));
  }, [filtered, accounts, open, below]);
  const toggle = (id: string): void => {
    const next = open.includes(id) ? open.filter((other) => other !== id) : [...open, id];
    setOpened(next.length === 0 ? NONE_OPEN : next.join(','));
  };
  const cut = rows.map(({ account }) => account).filter(({ id }) => below.get(id)?.all === false);
  return { rows, toggle, cut };
}

const NO_ACCOUNTS: readonly Account[] = [];

function Answer({ roots, all }: { roots: readonly Account[]; all: boolean }) {
  if (!all) {
    return (
      <>
        The first <strong>{plural(roots.length, 'customer')}</strong>; the others by scrolling, or by a search.
      </>
    );
  }
  const left = roots.reduce((sum, { balance }) => sum + nanosOf(balance ?? 0), 0n);
  return (
    <>
      <strong>{plural(roots.length, 'customer')}</strong>;{' '}
      <strong className="num">{headlineCredits(left)} credits</strong> on their balances.
    </>
  );
}
