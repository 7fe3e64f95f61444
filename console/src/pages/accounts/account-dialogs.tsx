/** What is done to an account after a question. */
import { Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Account } from '../../api/accounts.ts';
import { ApiError, call } from '../../api/client.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { plural } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

interface DialogProps {
  readonly of: Account;
  readonly close: () => void;
}

function change({ id }: Account, status: 'suspended' | 'closed') {
  return () => call('patch', '/admin/v1/accounts/{id}', { path: { id }, body: { status } });
}

export function SuspendAccount({ of: account, close }: DialogProps) {
  return (
    <Confirm
      title={`Suspend ${account.name}?`}
      verb="Suspend it"
      dangerous
      act={change(account, 'suspended')}
      done={() => 'The account and everything below it is suspended'}
      close={close}
    >
      Every key below it is refused (403) from the next request on, until you resume it. Requests that run now finish,
      and nothing of its credit is lost.
    </Confirm>
  );
}

export function CloseAccount({ of: account, close }: DialogProps) {
  return (
    <Confirm
      title={`Close ${account.name} for ever?`}
      verb="Close it"
      keep="Keep it"
      dangerous
      act={change(account, 'closed')}
      done={() => 'The account is closed'}
      close={close}
    >
      This cannot be undone. Its keys have to be revoked and the accounts below it closed before; its entries stay in
      the ledger, and its statements can still be read.
    </Confirm>
  );
}

/** The name is typed, so that no other account is erased by mistake. */
export function EraseAccount({ of: account, close }: DialogProps) {
  const [name, setName] = useState('');
  const erase = useMutation({
    mutationFn: () => call('post', '/admin/v1/accounts/{id}/erase', { path: { id: account.id }, body: { name } }),
    onSuccess: ({ keys, requests }) => {
      toast(`Erased, with ${plural(keys, 'key')} and ${plural(requests, 'request')} of the log`);
      close();
    },
  });
  const atName = erase.error instanceof ApiError && erase.error.field === 'name';
  return (
    <FormDialog
      title={`Erase the data of ${account.name}?`}
      verb="Erase for ever"
      close={close}
      busy={erase.isPending}
      submit={erase.mutate}
    >
      <Text size="sm">
        The account and those below it are closed, their keys and account-admins revoked; names, labels, your ids,
        webhooks and the log of their requests are removed. This cannot be undone. What was bought and charged stays in
        the ledger under ids alone, because the books have to add up.
      </Text>
      <TextInput
        label="Name of the account"
        description={`Type ${account.name} to confirm.`}
        data-autofocus
        value={name}
        error={atName ? erase.error?.message : undefined}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {!atName && <Failure error={erase.error} />}
    </FormDialog>
  );
}
