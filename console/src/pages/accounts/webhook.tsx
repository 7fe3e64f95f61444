/** Where an account's own alerts are posted to. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, call } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { Failure, Section } from '../../ui/page.tsx';

const PATH = '/admin/v1/accounts/{id}/webhook';

export function Webhook({ account, mayWrite }: { account: string; mayWrite: boolean }) {
  const [dialog, setDialog] = useState<'set' | 'remove' | null>(null);
  const close = (): void => setDialog(null);
  const { data, error } = useQuery({
    queryKey: ['accounts', account, 'webhook'],
    queryFn: ({ signal }) => call('get', PATH, { path: { id: account }, signal }),
  });
  const url = data?.url ?? null;
  return (
    <Section
      title="Webhook"
      note="Gets the alerts of this account, of those below it and of their keys."
      actions={
        mayWrite &&
        data !== undefined && (
          <>
            {url !== null && (
              <Button variant="default" onClick={() => setDialog('remove')}>
                Remove
              </Button>
            )}
            <Button variant="default" onClick={() => setDialog('set')}>
              {url === null ? 'Set a webhook' : 'Change it'}
            </Button>
          </>
        )
      }
    >
      <Failure error={error} />
      {data !== undefined && <p>{url === null ? <span className="muted">none</span> : <code>{url}</code>}</p>}
      {dialog === 'set' && <SetWebhook account={account} url={url ?? ''} close={close} />}
      {dialog === 'remove' && (
        <Confirm
          title="Remove the webhook?"
          verb="Remove it"
          dangerous
          act={() => call('delete', PATH, { path: { id: account } })}
          done={() => 'The webhook is removed'}
          close={close}
        >
          Nobody is told of the alerts of this account any more, unless the config file names a receiver.
        </Confirm>
      )}
    </Section>
  );
}

function SetWebhook({ account, url: before, close }: { account: string; url: string; close: () => void }) {
  const [url, setUrl] = useState(before);
  const set = useMutation({
    mutationFn: () => call('put', PATH, { path: { id: account }, body: { url: url.trim() } }),
  });
  const atField = set.error instanceof ApiError && set.error.field === 'url';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set.mutate();
  };
  return (
    <Modal
      opened
      onClose={close}
      title={set.data ? 'The secret of the webhook' : 'Set the webhook'}
      size={480}
      closeOnClickOutside={!set.data}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {set.data ? (
        <Stack gap="md">
          <Text size="sm">
            What is posted is signed with it, so that the receiver can tell that it comes from here. It is shown only
            once.
          </Text>
          <Code label="Secret of the webhook" text={set.data.secret ?? ''} />
          <Group justify="flex-end">
            <Button onClick={close}>I have copied it</Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <TextInput
              label="Address"
              description="By https, and public."
              placeholder="https://customer.example.com/hook"
              data-autofocus
              value={url}
              error={atField ? set.error?.message : undefined}
              onChange={(event) => setUrl(event.currentTarget.value)}
            />
            {!atField && <Failure error={set.error} />}
            <FormButtons close={close} verb="Set it" busy={set.isPending} />
          </Stack>
        </form>
      )}
    </Modal>
  );
}
