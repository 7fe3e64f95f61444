/** One key: how much is left, what holds it, who may use it for what. */
import { ActionIcon, Button, Group, Menu, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import { type CreatedKey, type Key, useKey } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { count, plural } from '../../ui/format.ts';
import { IconMore } from '../../ui/icons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Meter } from '../../ui/meter.tsx';
import { Facts, Failure, Page, Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { Id, Time } from '../../ui/values.tsx';
import { EditKey } from './key-form.tsx';
import { amountText, KeyStatus, keyName, PERIODS } from './key-words.tsx';
import css from './keys.module.css';
import { NewSecret } from './secret.tsx';
import { Snippets } from './snippets.tsx';

const BACK = { href: '/keys', label: 'Keys' };
type Dialog = 'edit' | 'credit' | 'revoke' | 'rotate' | null;

export function KeyPage({ id }: { id: string }) {
  const { data: key, error, isPending, refetch } = useKey(id);
  const { mayWrite } = useSession();
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
          ['Requests', count(key.requests)],
          ['Tokens in / out', `${count(key.input_tokens)} / ${count(key.output_tokens)}`],
          key.mode === 'credit' && ['Spent today', amountText(key, key.today_spend)],
          ['Rate limit', key.rpm_limit === null ? 'none' : `${count(key.rpm_limit)} requests per minute`],
          ['Models', key.models === null ? 'all' : key.models.join(', ')],
          ['Provider', key.provider_scope],
          ['Expires', key.expires_at === null ? 'never' : <Time key="expires" at={key.expires_at} />],
          ['Created', <Time key="created" at={key.created_at} />],
          ['Id', <Id key="id" value={key.id} />],
        ]}
      />
      <Secrets of={key} mayWrite={mayWrite && !ended} rotate={() => setDialog('rotate')} />
      <Section title="Use it" note="Replace the beginning of the secret by the whole one.">
        <Snippets
          baseUrl={key.base_url}
          origin={key.origin}
          secret={`${key.prefix}…`}
          model={key.models?.[0] ?? 'sandbox/alpha'}
        />
      </Section>
      {dialog === 'edit' && <EditKey of={key} close={close} />}
      {dialog === 'credit' && <AddCredit of={key} close={close} />}
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

function Answer({ of: key }: { of: Key }) {
  const all = key.mode === 'credit' ? key.credit : key.budget;
  return (
    <>
      <strong>{amountText(key, key.remaining)}</strong> left{all !== null && <> of {amountText(key, all)}</>}
      {key.mode === 'token_budget' && key.period !== 'none' && <> {PERIODS[key.period]}</>}
      {key.live_holds > 0 && (
        <>
          ; {amountText(key, key.reserved)} held by {plural(key.live_holds, 'running request')}
        </>
      )}
      .
    </>
  );
}

/** A key without an end has no line. */
function Spent({ of: key }: { of: Key }) {
  const all = key.mode === 'credit' ? key.credit : key.budget;
  if (all === null || all <= 0) return null;
  const text = (value: number | null): string => amountText(key, value, true);
  const texts = { used: text(key.used), held: text(key.reserved), left: text(key.remaining) };
  return <Meter all={all} used={key.used} held={key.reserved} texts={texts} />;
}

function Actions({ of: key, open }: { of: Key; open: (dialog: Dialog) => void }) {
  const status = useMutation({
    mutationFn: (next: 'active' | 'suspended') =>
      call('patch', '/admin/v1/keys/{id}', { path: { id: key.id }, body: { status: next } }),
    onSuccess: ({ status: now }) => toast(now === 'active' ? 'The key works again' : 'The key is suspended'),
    onError: (error) => toast(error.message),
  });
  const suspended = key.status === 'suspended' || key.status === 'disabled';
  return (
    <>
      {key.mode === 'credit' && <Button onClick={() => open('credit')}>Add credit</Button>}
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
          <Menu.Item color="red" onClick={() => open('revoke')}>
            Revoke the key…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

function AddCredit({ of: key, close }: { of: Key; close: () => void }) {
  const [amount, setAmount] = useState('5');
  const [note, setNote] = useState('');
  // Sent again after a lost answer, it is still one purchase.
  const [entryId] = useState(() => `credit_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`);
  const add = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/keys/{id}/credit', {
        path: { id: key.id },
        body: { amount: amount.trim(), entry_id: entryId, ...(note.trim() !== '' && { note: note.trim() }) },
      }),
    onSuccess: (changed) => {
      toast(`${amountText(changed, changed.remaining)} left now`);
      close();
    },
  });
  const field = add.error instanceof ApiError ? add.error.field : null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Modal
      opened
      onClose={close}
      title={`Add credit to ${keyName(key)}`}
      size={420}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          <TextInput
            label="Amount"
            inputMode="decimal"
            data-autofocus
            rightSection={<span className="muted">credits</span>}
            rightSectionWidth={64}
            value={amount}
            error={field === 'amount' ? add.error?.message : undefined}
            onChange={(event) => setAmount(event.currentTarget.value)}
          />
          <TextInput
            label="Note"
            placeholder="Invoice 2026-114"
            value={note}
            error={field === 'note' ? add.error?.message : undefined}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          {field === null && <Failure error={add.error} />}
          <FormButtons close={close} verb="Add credit" busy={add.isPending} />
        </Stack>
      </form>
    </Modal>
  );
}

function Revoke({ of: key, close }: { of: Key; close: () => void }) {
  const revoke = useMutation({
    mutationFn: () => call('delete', '/admin/v1/keys/{id}', { path: { id: key.id } }),
    onSuccess: () => {
      toast('The key is revoked');
      close();
    },
  });
  return (
    <Modal
      opened
      onClose={close}
      title={`Revoke ${keyName(key)}?`}
      size={420}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Text size="sm">
          Applications that use it are refused from now on, and it cannot be brought back. What it did stays in the
          ledger. To stop it for a while only, suspend it.
        </Text>
        <Failure error={revoke.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close} data-autofocus>
            Keep it
          </Button>
          <Button color="red.8" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke key
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Rotate({ of: key, close, rotated }: { of: Key; close: () => void; rotated: (made: CreatedKey) => void }) {
  const rotate = useMutation({
    mutationFn: () => call('post', '/admin/v1/keys/{id}/secrets', { path: { id: key.id } }),
    onSuccess: rotated,
  });
  return (
    <Modal
      opened
      onClose={close}
      title={`Rotate the secret of ${keyName(key)}?`}
      size={420}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Text size="sm">
          You get a second secret. The one in use keeps working until you revoke it, so that applications can change
          over one by one.
        </Text>
        <Failure error={rotate.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button loading={rotate.isPending} onClick={() => rotate.mutate()} data-autofocus>
            Make a new secret
          </Button>
        </Group>
      </Stack>
    </Modal>
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
