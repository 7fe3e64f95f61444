/** One account: what is left of what, which keys spend it, and what is below it. */
import { ActionIcon, Button, Menu } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Account, useAccount, useAccountPages } from '../../api/accounts.ts';
import { call } from '../../api/client.ts';
import { type Key, useKeyPages } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { count, exactCredits, nanosOf, plural, shortCredits } from '../../ui/format.ts';
import { History } from '../../ui/history.tsx';
import { IconMore } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Meter } from '../../ui/meter.tsx';
import { Empty, Facts, Failure, Page, Section } from '../../ui/page.tsx';
import { Statement } from '../../ui/statement.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Credits, Id, Time } from '../../ui/values.tsx';
import { amountText, KeyStatus, keyName, limitsText } from '../keys/key-format.tsx';
import { AddCredit, Correct, type Payer } from '../money/money-dialogs.tsx';
import { Promotions } from '../money/promotions.tsx';
import { CloseAccount, EraseAccount, SuspendAccount } from './account-dialogs.tsx';
import { CreateAccount, EditAccount, MoveAccount } from './account-form.tsx';
import { AccountStatus, capText } from './account-format.tsx';
import { AccountLink } from './account-link.tsx';
import { AccountReceivers } from './receivers.tsx';

const BACK = { href: '/accounts', label: 'Accounts' };
type Dialog = 'edit' | 'move' | 'credit' | 'correct' | 'create' | 'suspend' | 'close' | 'erase' | null;

export function AccountPage({ id }: { id: string }) {
  const { data: account, error, isPending, refetch } = useAccount(id);
  const isRoot = account === undefined || account.root === id;
  const payer = useAccount(account?.root ?? '', 60_000, !isRoot).data;
  const below = useAccountPages({ parent: id });
  const { keys, all, more } = useKeyPages({ account: id });
  const { mayWrite } = useSession();
  const [dialog, setDialog] = useState<Dialog>(null);
  const close = (): void => setDialog(null);
  if (account === undefined) {
    return (
      <Page title="Account" back={BACK}>
        {isPending ? <Loading /> : <Failure error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  return (
    <Page
      title={account.name}
      back={BACK}
      answer={<Answer of={account} payer={payer} />}
      actions={mayWrite && account.status !== 'closed' && <Actions of={account} open={setDialog} />}
    >
      <Failure error={error} />
      <Spent of={account} />
      <Facts
        items={[
          ['Status', <AccountStatus key="status" of={account} />],
          ['Cap', capText(account) ?? 'none'],
          ['Rate limit', limitsText(account)],
          account.output_limit !== null && ['Maximum output', `${count(account.output_limit)} tokens`],
          account.models !== null && ['Models', account.models.join(', ')],
          account.addresses !== null && ['Client addresses', account.addresses.join(', ')],
          account.parent !== null && ['Below', <AccountLink key="parent" id={account.parent} />],
          !isRoot && ['Paid by', <AccountLink key="root" id={account.root} />],
          account.external_id !== null && ['Your id', account.external_id],
          ['Used in total', `${exactCredits(nanosOf(account.used))} credits`],
          [
            'Requests',
            <Link key="requests" href={`/requests?account=${id}`} className="link">
              See them
            </Link>,
          ],
          ['Created', <Time key="created" at={account.created_at} />],
          ['Id', <Id key="id" value={account.id} />],
        ]}
      />
      <Section title="Keys">
        {keys?.length === 0 && (
          <Empty title="No keys yet">Create one: it spends from this account, within its caps.</Empty>
        )}
        {keys && keys.length > 0 && (
          <DataTable
            name="Keys of the account"
            rows={keys}
            columns={KEY_COLUMNS}
            rowId={(key) => key.id}
            href={keyHref}
            sortable={all}
            more={more}
          />
        )}
      </Section>
      <Failure error={below.error} retry={() => void below.refetch()} />
      {below.accounts !== undefined && below.accounts.length > 0 && (
        <Section title="Teams">
          <DataTable
            name="Accounts below"
            rows={below.accounts}
            columns={BELOW_COLUMNS}
            rowId={(one) => one.id}
            href={(one) => `/accounts/${one.id}`}
            sortable={below.all}
            more={below.more}
          />
        </Section>
      )}
      {account.promotional !== undefined && <Promotions of="accounts" id={id} />}
      <AccountReceivers account={id} mayWrite={mayWrite && account.status !== 'closed'} />
      <Statement of="accounts" id={id} />
      <History of="accounts" id={id} />
      {dialog === 'edit' && <EditAccount of={account} close={close} />}
      {dialog === 'move' && <MoveAccount of={account} close={close} />}
      {dialog === 'credit' && <AddCredit to={payerOf(account)} close={close} />}
      {dialog === 'correct' && <Correct of={payerOf(account)} close={close} />}
      {dialog === 'suspend' && <SuspendAccount of={account} close={close} />}
      {dialog === 'close' && <CloseAccount of={account} close={close} />}
      {dialog === 'erase' && <EraseAccount of={account} close={close} />}
      {dialog === 'create' && <CreateAccount below={id} close={close} />}
    </Page>
  );
}

function payerOf({ id, name }: Account): Payer {
  return { kind: 'accounts', id, name };
}

function keyHref(key: Key): string {
  return `/keys/${key.id}`;
}

function Answer({ of: account, payer }: { of: Account; payer: Account | undefined }) {
  const { credit_cap: cap, balance } = account;
  const held =
    account.live_holds > 0 &&
    `; ${shortCredits(nanosOf(account.reserved))} held by ${plural(account.live_holds, 'running request')}`;
  if (balance !== null) {
    return (
      <>
        <strong className="num">{shortCredits(nanosOf(balance - account.reserved))} credits</strong> left of what it
        bought
        {held}.
      </>
    );
  }
  return (
    <>
      {cap === null ? (
        <>
          <strong className="num">{shortCredits(nanosOf(account.used))} credits</strong> used
        </>
      ) : (
        <>
          <strong className="num">{shortCredits(leftOf(cap.amount, account))} credits</strong> left of its cap
        </>
      )}
      {payer !== undefined && `; ${payer.name} pays`}
      {held}.
    </>
  );
}

function leftOf(amount: number, { credit_used: used, reserved }: Account): bigint {
  const left = nanosOf(amount) - nanosOf(used) - nanosOf(reserved);
  return left < 0n ? 0n : left;
}

function Spent({ of: account }: { of: Account }) {
  const { credit_cap: cap, credit } = account;
  const all = credit ?? cap?.amount ?? 0;
  if (all <= 0) return null;
  const used = credit === null ? account.credit_used : account.used;
  const left = nanosOf(all) - nanosOf(used) - nanosOf(account.reserved);
  const text = (value: bigint): string => `${exactCredits(value < 0n ? 0n : value)} credits`;
  const texts = { used: text(nanosOf(used)), held: text(nanosOf(account.reserved)), left: text(left) };
  return <Meter all={all} used={used} held={account.reserved} texts={texts} />;
}

function Actions({ of: account, open }: { of: Account; open: (dialog: Dialog) => void }) {
  const [, navigate] = useLocation();
  const { may, mayOperate, session } = useSession();
  // Only an operator can change the account that an account-admin administers.
  const isOwn = session?.operator.account_id === account.id;
  const resume = useMutation({
    mutationFn: () =>
      call('patch', '/admin/v1/accounts/{id}', { path: { id: account.id }, body: { status: 'active' } }),
    onSuccess: () => toast('The account works again'),
    onError: (error) => toast(error.message),
  });
  const suspended = account.status === 'suspended';
  return (
    <>
      {mayOperate && account.parent === null && <Button onClick={() => open('credit')}>Add credit</Button>}
      <Button data-key="c" variant="default" onClick={() => navigate(`/keys?create=1&account=${account.id}`)}>
        Create key
      </Button>
      {!isOwn && (
        <>
          <Button variant="default" data-key="e" onClick={() => open('edit')}>
            Edit
          </Button>
          <Button
            variant="default"
            loading={resume.isPending}
            onClick={() => (suspended ? resume.mutate() : open('suspend'))}
          >
            {suspended ? 'Resume' : 'Suspend…'}
          </Button>
        </>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon size={30} variant="default" aria-label="More">
            <IconMore />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => open('create')}>Create an account below it…</Menu.Item>
          {account.parent !== null && <Menu.Item onClick={() => open('move')}>Move it…</Menu.Item>}
          {mayOperate && account.parent === null && (
            <Menu.Item onClick={() => open('correct')}>Correct its balance…</Menu.Item>
          )}
          {!isOwn && (
            <Menu.Item color="red" onClick={() => open('close')}>
              Close the account…
            </Menu.Item>
          )}
          {may('post /admin/v1/accounts/{id}/erase') && (
            <Menu.Item color="red" onClick={() => open('erase')}>
              Erase its data…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

const KEY_COLUMNS: readonly Column<Key>[] = [
  { id: 'name', header: 'Name', value: keyName, cell: (key) => <Link href={keyHref(key)}>{keyName(key)}</Link> },
  { id: 'status', header: 'Status', value: (key) => key.status, cell: (key) => <KeyStatus status={key.status} /> },
  {
    id: 'used',
    header: 'Used',
    value: (key) => key.used,
    cell: (key) => amountText(key, key.used),
    right: true,
  },
  {
    id: 'cap',
    header: 'Cap',
    value: (key) => (key.mode === 'credit' ? (key.cap?.amount ?? null) : key.budget),
    cell: (key) => amountText(key, key.mode === 'credit' ? (key.cap?.amount ?? null) : key.budget),
    right: true,
    minor: true,
  },
  {
    id: 'requests',
    header: 'Requests',
    value: (key) => key.requests,
    cell: (key) => count(key.requests),
    right: true,
    minor: true,
  },
];

const BELOW_COLUMNS: readonly Column<Account>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: ({ id, name }) => <Link href={`/accounts/${id}`}>{name}</Link>,
  },
  { id: 'status', header: 'Status', value: ({ status }) => status, cell: (account) => <AccountStatus of={account} /> },
  {
    id: 'used',
    header: 'Used, credits',
    value: ({ used }) => used,
    cell: ({ used }) => <Credits value={used} />,
    right: true,
  },
  { id: 'cap', header: 'Cap', value: capText, right: true, minor: true },
];
