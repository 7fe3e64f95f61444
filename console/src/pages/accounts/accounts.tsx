/** Accounts: who pays, and what of it is left, as a tree. */
import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { type Account, useAccounts } from '../../api/admin.ts';
import { useSession } from '../../api/session.tsx';
import { headlineCredits, nanosOf, plural } from '../../ui/format.ts';
import { IconPlus } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Credits, Id, Time } from '../../ui/values.tsx';
import { AddCredit, CreateAccount } from './account-form.tsx';
import { AccountStatus, capText } from './account-words.tsx';

interface Node {
  readonly account: Account;
  readonly depth: number;
}

/** Every account below its parent. */
function inTree(accounts: readonly Account[]): readonly Node[] {
  const below = Map.groupBy(accounts, ({ parent }) => parent);
  const walk = (parent: string | null, depth: number): Node[] =>
    (below.get(parent) ?? []).flatMap((account) => [{ account, depth }, ...walk(account.id, depth + 1)]);
  return walk(null, 0);
}

function hrefOf({ id }: Account): string {
  return `/accounts/${id}`;
}

const COLUMNS: readonly Column<Node>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ account }) => account.name,
    cell: ({ account, depth }) => (
      <Link href={hrefOf(account)} style={{ paddingLeft: depth * 20 }}>
        {account.name}
      </Link>
    ),
  },
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
  const { data: accounts, error, isPending, refetch } = useAccounts();
  const { session, mayWrite, mayOperate } = useSession();
  const [dialog, setDialog] = useState<'create' | 'credit' | null>(null);
  const rows = useMemo(() => inTree(accounts ?? []), [accounts]);
  const roots = accounts?.filter(({ parent }) => parent === null) ?? [];
  const left = roots.reduce((sum, { balance }) => sum + nanosOf(balance ?? 0), 0n);
  const create = mayWrite && (
    <Button leftSection={<IconPlus size={14} />} data-key="c" onClick={() => setDialog('create')}>
      Create account
    </Button>
  );
  return (
    <Page
      title="Accounts"
      answer={
        accounts &&
        accounts.length > 0 && (
          <>
            <strong>{plural(accounts.length, 'account')}</strong> of {plural(roots.length, 'customer')};{' '}
            <strong className="num">{headlineCredits(left)} credits</strong> on their balances.
          </>
        )
      }
      actions={
        <>
          {mayOperate && roots.length > 0 && (
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
      {accounts?.length === 0 && (
        <Empty title="No accounts yet" action={create}>
          An account is a customer, with teams below it. It buys the credit that every key below it spends, and a cap at
          any level holds for everything under it. A key without an account has a balance of its own.
        </Empty>
      )}
      {rows.length > 0 && (
        <DataTable
          name="Accounts"
          rows={rows}
          columns={COLUMNS}
          rowId={({ account }) => account.id}
          href={({ account }) => hrefOf(account)}
          sortable={false}
        />
      )}
      {dialog === 'create' && (
        <CreateAccount
          accounts={accounts ?? []}
          below={session?.operator.account_id ?? null}
          close={() => setDialog(null)}
        />
      )}
      {dialog === 'credit' && <AddCredit roots={roots} close={() => setDialog(null)} />}
    </Page>
  );
}
