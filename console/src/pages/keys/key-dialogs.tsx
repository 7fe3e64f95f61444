/** What is done to a key in a dialog of its own. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import type { CreatedKey, Key } from '../../api/queries.ts';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import { amountText, keyName } from './key-format.tsx';

export function AddCredit({ of: key, close }: { of: Key; close: () => void }) {
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

export function Revoke({ of: key, close }: { of: Key; close: () => void }) {
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
          Applications that use it are refused from now on, and this cannot be undone. Its entries stay in the ledger.
          To stop it temporarily, suspend it.
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

export function Rotate({
  of: key,
  close,
  rotated,
}: {
  of: Key;
  close: () => void;
  rotated: (made: CreatedKey) => void;
}) {
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
            Create a new secret
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** A key that paid for itself brings its balance along. */
export function PutUnder({ of: key, close }: { of: Key; close: () => void }) {
  const [account, setAccount] = useState<string | null>(key.account ?? null);
  const [entryId] = useState(() => `transfer_${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`);
  const put = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/accounts/{id}/keys', {
        path: { id: account ?? '' },
        body: { key: key.id, entry_id: entryId },
      }),
    onSuccess: ({ name }) => {
      toast(`Moved to ${name}`);
      close();
    },
  });
  return (
    <FormDialog
      title={`Move ${keyName(key)} to an account`}
      verb="Move it"
      close={close}
      busy={put.isPending}
      submit={put.mutate}
    >
      <Text size="sm">
        The account pays for it from then on, and the caps above it count. A balance of its own goes to the account;
        what it did stays in the ledger.
      </Text>
      <AccountSelect label="Account" allowDeselect={false} value={account} onChange={setAccount} />
      <Failure error={put.error} />
    </FormDialog>
  );
}
