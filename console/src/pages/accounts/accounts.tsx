/** Accounts: who pays, and what of it is left, as a tree. */
import { Button, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { type Account, useAccounts } from '../../api/admin.ts';
import { ApiError, call } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { headlineCredits, nanosOf, plural } from '../../ui/format.ts';
import { IconPlus } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Credits, Dot, Id, Time } from '../../ui/values.tsx';

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

const COLUMNS: readonly Column<Node>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ account }) => account.name,
    cell: ({ account, depth }) => <span style={{ paddingLeft: depth * 20 }}>{account.name}</span>,
  },
  {
    id: 'status',
    header: 'Status',
    value: ({ account }) => account.status,
    cell: ({ account: { status } }) => (
      <Dot tone={status === 'active' ? 'ok' : status === 'suspended' ? 'warn' : 'neutral'}>{status}</Dot>
    ),
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
    header: 'Held',
    value: ({ account }) => account.reserved,
    cell: ({ account }) => <Credits value={account.reserved} />,
    right: true,
    minor: true,
  },
  {
    id: 'used',
    header: 'Used',
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
    cell: ({ account }) => <Id value={account.id} />,
    minor: true,
  },
];

function capText({ credit_cap: cap }: Account): string | null {
  if (cap === null) return null;
  return `${headlineCredits(nanosOf(cap.amount))} ${cap.period === 'none' ? 'in all' : `per ${cap.period}`}`;
}

export function AccountsPage() {
  const { data: accounts, error, isPending, refetch } = useAccounts();
  const { mayWrite } = useSession();
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
          {mayWrite && roots.length > 0 && (
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
        <DataTable name="Accounts" rows={rows} columns={COLUMNS} rowId={({ account }) => account.id} sortable={false} />
      )}
      {dialog === 'create' && <CreateAccount accounts={accounts ?? []} close={() => setDialog(null)} />}
      {dialog === 'credit' && <AddCredit roots={roots} close={() => setDialog(null)} />}
    </Page>
  );
}

function CreateAccount({ accounts, close }: { accounts: readonly Account[]; close: () => void }) {
  const [name, setName] = useState('');
  const [parent, setParent] = useState<string | null>(null);
  const [cap, setCap] = useState('');
  const create = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/accounts', {
        body: {
          name: name.trim(),
          ...(parent !== null && { parent }),
          ...(cap.trim() !== '' && { credit_cap: { amount: cap.trim(), period: 'month' as const } }),
        },
      }),
    onSuccess: () => {
      toast('The account is there');
      close();
    },
  });
  const field = create.error instanceof ApiError ? create.error.field : null;
  const at = (wanted: string): string | undefined => (field === wanted ? create.error?.message : undefined);
  return (
    <Form title="Create an account" verb="Create account" close={close} busy={create.isPending} submit={create.mutate}>
      <TextInput
        label="Name"
        data-autofocus
        value={name}
        error={at('name')}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Select
        label="Below"
        placeholder="nothing: a customer of its own"
        clearable
        searchable
        data={accounts.map(({ id, name: label }) => ({ value: id, label }))}
        value={parent}
        error={at('parent')}
        onChange={setParent}
      />
      <TextInput
        label="Cap per month"
        placeholder="none"
        inputMode="decimal"
        rightSection={<span className="muted">credits</span>}
        rightSectionWidth={64}
        value={cap}
        error={at('credit_cap')}
        onChange={(event) => setCap(event.currentTarget.value)}
      />
      {!['name', 'parent', 'credit_cap'].includes(field ?? '') && <Failure error={create.error} />}
    </Form>
  );
}

function AddCredit({ roots, close }: { roots: readonly Account[]; close: () => void }) {
  const [id, setId] = useState<string | null>(roots[0]?.id ?? null);
  const [amount, setAmount] = useState('10');
  const [entryId] = useState(() => `credit_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`);
  const add = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/accounts/{id}/credit', {
        path: { id: id ?? '' },
        body: { amount: amount.trim(), entry_id: entryId },
      }),
    onSuccess: () => {
      toast('The credit is there');
      close();
    },
  });
  return (
    <Form title="Add credit to an account" verb="Add credit" close={close} busy={add.isPending} submit={add.mutate}>
      <Select
        label="Account"
        allowDeselect={false}
        data={roots.map(({ id: value, name: label }) => ({ value, label }))}
        value={id}
        onChange={setId}
      />
      <TextInput
        label="Amount"
        inputMode="decimal"
        data-autofocus
        rightSection={<span className="muted">credits</span>}
        rightSectionWidth={64}
        value={amount}
        onChange={(event) => setAmount(event.currentTarget.value)}
      />
      <Failure error={add.error} />
    </Form>
  );
}

function Form({
  title,
  verb,
  close,
  busy,
  submit,
  children,
}: {
  title: string;
  verb: string;
  close: () => void;
  busy: boolean;
  submit: () => void;
  children: React.ReactNode;
}) {
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    submit();
  };
  return (
    <Modal opened onClose={close} title={title} size={460} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="md">
          {children}
          <FormButtons close={close} verb={verb} busy={busy} />
        </Stack>
      </form>
    </Modal>
  );
}
