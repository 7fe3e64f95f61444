/** One key: how much is left, what holds it, who may use it for what. */
import { ActionIcon, Button, Menu } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../../api/client.ts';
import { type CreatedKey, type Key, useKey } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { count, plural } from '../../ui/format.ts';
import { History } from '../../ui/history.tsx';
import { IconMore } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Meter } from '../../ui/meter.tsx';
import { Facts, Failure, Page, Section } from '../../ui/page.tsx';
import { Statement } from '../../ui/statement.tsx';
import { toast } from '../../ui/toast.tsx';
import { Id, Time } from '../../ui/values.tsx';
import { AccountLink } from '../accounts/account-link.tsx';
import { AddCredit, Correct, type Payer } from '../money/money-dialogs.tsx';
import { Promotions } from '../money/promotions.tsx';
import { PutUnder, Revoke, Rotate, Stop } from './key-dialogs.tsx';
import { EditKey } from './key-form.tsx';
import { amountText, balanceOf, KeyStatus, keyName, limitsText, PERIODS } from './key-format.tsx';
import css from './keys.module.css';
import { NewSecret } from './secret.tsx';
import { Snippets } from './snippets.tsx';

const BACK = { href: '/keys', label: 'Keys' };
type Dialog = 'edit' | 'credit' | 'correct' | 'stop' | 'revoke' | 'rotate' | 'account' | null;

export function KeyPage({ id }: { id: string }) {
  const { data: key, error, isPending, refetch } = useKey(id);
  const { may, mayWrite } = useSession();
  const [dialog, setDialog] = useState<Dialog>(null);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const close = (): void => setDialog(null);
  if (key === undefined) {
    return (
      <Page title="Key" back={BACK}>
        {isPending ? <Loading /> : <Failure error={error} retry={() => void refetch()} />}
      </Page>
    );
  }
  const ended = key.status === 'revoked';
  return (
    <Page
      title={keyName(key)}
      back={BACK}
      answer={<Answer of={key} />}
      actions={mayWrite && !ended && <Actions of={key} open={setDialog} />}
    >
      <Failure error={error} />
      <Spent of={key} />
      <Facts
        items={[
          ['Status', <KeyStatus key="status" status={key.status} />],
          ['Pays with', key.mode === 'credit' ? 'prepaid credit' : `tokens ${PERIODS[key.period] ?? ''}`],
          key.mode === 'token_budget' &&
            key.period_ends_at !== null && ['Period ends', <Time key="period" at={key.period_ends_at} />],
          [
            'Requests',
            <Link key="requests" href={`/requests?key=${key.id}`} className="link">
              {count(key.requests)}
            </Link>,
          ],
          ['Tokens in / out', `${count(key.input_tokens)} / ${count(key.output_tokens)}`],
          key.mode === 'credit' && ['Spent today', amountText(key, key.today_spend)],
          [
            'Account',
            key.account === undefined ? 'none: it has its own balance' : <AccountLink key="account" id={key.account} />,
          ],
          ['Rate limit', limitsText(key)],
          key.output_limit !== null && ['Maximum output', `${count(key.output_limit)} tokens`],
          ['Models', key.models === null ? 'all' : key.models.join(', ')],
          key.addresses !== null && ['Client addresses', key.addresses.join(', ')],
          may('get /admin/v1/providers') && ['Provider', key.provider_scope],
          key.capture_days !== null && ['Content', `kept for ${plural(key.capture_days, 'day')}`],
          ['Expires', key.expires_at === null ? 'never' : <Time key="expires" at={key.expires_at} />],
          ['Created', <Time key="created" at={key.created_at} />],
          ['Id', <Id key="id" value={key.id} />],
        ]}
      />
      <Secrets of={key} mayWrite={mayWrite && !ended} rotate={() => setDialog('rotate')} />
      {key.mode === 'credit' && key.promotional !== undefined && <Promotions of="keys" id={key.id} />}
      {key.mode === 'credit' && <Statement of="keys" id={key.id} />}
      <Section title="Use it" note="Replace the prefix with the whole secret.">
        <Snippets
          baseUrl={key.base_url}
          origin={key.origin}
          secret={`${key.prefix}…`}
          model={key.models?.[0] ?? 'sandbox/alpha'}
        />
      </Section>
      <History of="keys" id={key.id} />
      {dialog === 'edit' && <EditKey of={key} close={close} />}
      {dialog === 'credit' && <AddCredit to={payerOf(key)} close={close} />}
      {dialog === 'correct' && <Correct of={payerOf(key)} close={close} />}
      {dialog === 'stop' && <Stop of={key} close={close} />}
      {dialog === 'account' && <PutUnder of={key} close={close} />}
      {dialog === 'revoke' && <Revoke of={key} close={close} />}
      {dialog === 'rotate' && (
        <Rotate
          of={key}
          close={close}
          rotated={(made) => {
            close();
            setCreated(made);
          }}
        />
      )}
      {created !== null && <NewSecret created={created} close={() => setCreated(null)} />}
    </Page>
  );
}

function payerOf(key: Key): Payer {
  return { kind: 'keys', id: key.id, name: keyName(key) };
}

function Answer({ of: key }: { of: Key }) {
  const { all, used, left, period } = balanceOf(key);
  const held = key.live_holds > 0 && (
    <>
      ; {amountText(key, key.reserved)} held by {plural(key.live_holds, 'running request')}
    </>
  );
  if (key.account !== undefined && all === null) {
    return (
      <>
        <strong>{amountText(key, used)}</strong> used; its account pays, and its limits count{held}.
      </>
    );
  }
  return (
    <>
      <strong>{amountText(key, left)}</strong> left{all !== null && <> of {amountText(key, all)}</>}
      {period !== null && period !== 'none' && <> {PERIODS[period]}</>}
      {key.account !== undefined && <>, if its account has that much left</>}
      {held}.
    </>
  );
}

/** A key without an end has no line. */
function Spent({ of: key }: { of: Key }) {
  const { all, used, left } = balanceOf(key);
  if (all === null || all <= 0) return null;
  const text = (value: number | null): string => amountText(key, value, true);
  const texts = { used: text(used), held: text(key.reserved), left: text(left) };
  return <Meter all={all} used={used} held={key.reserved} texts={texts} />;
}

function Actions({ of: key, open }: { of: Key; open: (dialog: Dialog) => void }) {
  const { mayOperate } = useSession();
  const status = useMutation({
    mutationFn: (next: 'active' | 'suspended' | 'disabled') =>
      call('patch', '/admin/v1/keys/{id}', { path: { id: key.id }, body: { status: next } }),
    onSuccess: ({ status: now }) => toast(now === 'active' ? 'The key works again' : `The key is ${now}`),
    onError: (error) => toast(error.message),
  });
  const suspended = key.status === 'suspended' || key.status === 'disabled';
  const paysItself = key.mode === 'credit' && key.account === undefined;
  return (
    <>
      {mayOperate && paysItself && <Button onClick={() => open('credit')}>Add credit</Button>}
      <Button variant="default" data-key="e" onClick={() => open('edit')}>
        Edit
      </Button>
      <Button
        variant="default"
        loading={status.isPending}
        onClick={() => status.mutate(suspended ? 'active' : 'suspended')}
      >
        {suspended ? 'Resume' : 'Suspend'}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon size={30} variant="default" aria-label="More">
            <IconMore />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => open('rotate')}>Rotate the secret…</Menu.Item>
          <Menu.Item onClick={() => open('account')}>Move it to an account…</Menu.Item>
          {mayOperate && paysItself && <Menu.Item onClick={() => open('correct')}>Correct its balance…</Menu.Item>}
          {key.status === 'active' && (
            <Menu.Item onClick={() => status.mutate('disabled')}>Disable it: clients get a 403</Menu.Item>
          )}
          <Menu.Item onClick={() => open('stop')}>Stop its running requests…</Menu.Item>
          <Menu.Item color="red" onClick={() => open('revoke')}>
            Revoke the key…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

function Secrets({ of: key, mayWrite, rotate }: { of: Key; mayWrite: boolean; rotate: () => void }) {
  const revoke = useMutation({
    mutationFn: (prefix: string) =>
      call('delete', '/admin/v1/keys/{id}/secrets/{prefix}', { path: { id: key.id, prefix } }),
    onSuccess: () => toast('The secret no longer works'),
  });
  return (
    <Section
      title="Secrets"
      actions={
        mayWrite && (
          <Button variant="default" onClick={rotate}>
            Rotate
          </Button>
        )
      }
    >
      <Failure error={revoke.error} />
      <ul className={css.secrets}>
        {key.prefixes.map((prefix) => (
          <li key={prefix}>
            <Id value={prefix} shown={`${prefix}…`} />
            {mayWrite && key.prefixes.length > 1 && (
              <Button
                variant="subtle"
                color="red"
                size="compact-xs"
                loading={revoke.isPending}
                onClick={() => revoke.mutate(prefix)}
              >
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
