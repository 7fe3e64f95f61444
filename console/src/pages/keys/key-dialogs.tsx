/** What is done to a key in a dialog of its own. */
import { Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../api/client.ts';
import type { CreatedKey, Key } from '../../api/queries.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { plural } from '../../ui/format.ts';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import { keyName } from './key-format.tsx';

interface DialogProps {
  readonly of: Key;
  readonly close: () => void;
}

export function Revoke({ of: key, close }: DialogProps) {
  return (
    <Confirm
      title={`Revoke ${keyName(key)}?`}
      verb="Revoke key"
      keep="Keep it"
      dangerous
      act={() => call('delete', '/admin/v1/keys/{id}', { path: { id: key.id } })}
      done={() => 'The key is revoked'}
      close={close}
    >
      Applications that use it are refused from now on, and this cannot be undone. Its entries stay in the ledger. To
      stop it temporarily, suspend it.
    </Confirm>
  );
}

export function Stop({ of: key, close }: DialogProps) {
  return (
    <Confirm
      title={`Stop the running requests of ${keyName(key)}?`}
      verb="Stop them"
      dangerous
      act={() => call('delete', '/admin/v1/keys/{id}/requests/running', { path: { id: key.id } })}
      done={({ stopped }) => `${plural(stopped, 'request')} stopped`}
      close={close}
    >
      Their clients get an error, and what was produced is charged. The key can begin new ones: to prevent that, suspend
      it first.
    </Confirm>
  );
}

export function Rotate({ of: key, close, rotated }: DialogProps & { rotated: (made: CreatedKey) => void }) {
  return (
    <Confirm
      title={`Rotate the secret of ${keyName(key)}?`}
      verb="Create a new secret"
      act={async () => rotated(await call('post', '/admin/v1/keys/{id}/secrets', { path: { id: key.id } }))}
      done={() => null}
      close={close}
    >
      You get a second secret. The one in use keeps working until you revoke it, so that applications can change over
      one by one.
    </Confirm>
  );
}

/** A key that paid for itself brings its balance along. */
export function PutUnder({ of: key, close }: DialogProps) {
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
