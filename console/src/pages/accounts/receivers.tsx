/** Whom the alerts of an account go to besides the operator: its webhook, Slack channels and mailboxes. */
import { Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Failure, Section } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { type Receiver, type ReceiverAction, ReceiverTable, Tested } from '../alerts/receivers.tsx';

const PATH = '/admin/v1/accounts/{id}/webhook';
const RECEIVERS = '/admin/v1/accounts/{id}/receivers';
const RECEIVER = '/admin/v1/accounts/{id}/receivers/{receiver}';
const TEST = '/admin/v1/accounts/{id}/receivers/{receiver}/test';

type Kind = Schemas['NewAccountReceiver']['kind'];
type Dialog = 'webhook' | 'add' | Receiver | null;

export function AccountReceivers({ account, mayWrite }: { account: string; mayWrite: boolean }) {
  const [dialog, setDialog] = useState<Dialog>(null);
  const close = (): void => setDialog(null);
  const webhook = useQuery({
    queryKey: ['accounts', account, 'webhook'],
    queryFn: ({ signal }) => call('get', PATH, { path: { id: account }, signal }),
  });
  const receivers = useQuery({
    queryKey: ['accounts', account, 'receivers'],
    queryFn: ({ signal }) => call('get', RECEIVERS, { path: { id: account }, signal }),
  });
  const test = useMutation({
    mutationFn: ({ id }: Receiver) => call('post', TEST, { path: { id: account, receiver: id ?? '' } }),
  });
  const mayAdd = receivers.data?.may_add ?? [];
  const url = webhook.data?.url ?? null;
  const actions: readonly ReceiverAction[] = [
    {
      label: 'Send a test',
      busy: ({ target }) => test.isPending && test.variables.target === target,
      act: (receiver) => test.mutate(receiver),
    },
    { label: 'Remove', dangerous: true, act: setDialog },
  ];
  return (
    <Section
      title="Alerts go to"
      note="Those of this account, of the ones below it and of their keys."
      actions={
        mayWrite && (
          <>
            <Button variant="default" onClick={() => setDialog('webhook')}>
              {url === null ? 'Set a webhook' : 'Change the webhook'}
            </Button>
            {mayAdd.length > 0 && (
              <Button variant="default" onClick={() => setDialog('add')}>
                Add a receiver
              </Button>
            )}
          </>
        )
      }
    >
      <Failure error={webhook.error ?? receivers.error ?? test.error} />
      {test.data && <Tested result={test.data} />}
      {receivers.data?.data.length === 0 && <p className="muted">nobody besides the operator</p>}
      {receivers.data && receivers.data.data.length > 0 && (
        <ReceiverTable
          name="Receivers of the account"
          receivers={receivers.data.data}
          actions={mayWrite ? actions : []}
        />
      )}
      {dialog === 'webhook' && <SetWebhook account={account} url={url ?? ''} close={close} />}
      {dialog === 'add' && <AddReceiver account={account} kinds={mayAdd} close={close} />}
      {dialog !== null && typeof dialog === 'object' && (
        <Confirm
          title={`Remove ${dialog.address ?? 'it'}?`}
          verb="Remove it"
          dangerous
          act={async () => {
            if (dialog.kind === 'webhook') await call('delete', PATH, { path: { id: account } });
            else await call('delete', RECEIVER, { path: { id: account, receiver: dialog.id ?? '' } });
          }}
          done={() => 'It is removed'}
          close={close}
        >
          It is told of nothing more. Alerts that the config file has receivers for go on to these.
        </Confirm>
      )}
    </Section>
  );
}

const ADDRESSES: Readonly<Record<Kind, { name: string; description: string; placeholder: string }>> = {
  slack: {
    name: 'Slack',
    description: 'The incoming webhook of a channel. Whoever knows it can post there: it is not shown again.',
    placeholder: 'https://hooks.slack.com/services/…',
  },
  email: { name: 'E-mail', description: 'One address.', placeholder: 'billing@customer.example.com' },
};

function AddReceiver({ account, kinds, close }: { account: string; kinds: readonly Kind[]; close: () => void }) {
  const [kind, setKind] = useState<Kind>(kinds.includes('email') ? 'email' : 'slack');
  const [address, setAddress] = useState('');
  const add = useMutation({
    mutationFn: () => call('post', RECEIVERS, { path: { id: account }, body: { kind, address: address.trim() } }),
    onSuccess: () => {
      toast('The receiver is added');
      close();
    },
  });
  const atField = add.error instanceof ApiError && add.error.field === 'address';
  return (
    <FormDialog title="Add a receiver" verb="Add it" close={close} busy={add.isPending} submit={() => add.mutate()}>
      <SegmentedControl
        aria-label="Kind"
        data={(['email', 'slack'] as const).map((value) => ({
          value,
          label: ADDRESSES[value].name,
          disabled: !kinds.includes(value),
        }))}
        value={kind}
        onChange={(value) => setKind(value as Kind)}
      />
      <TextInput
        label="Address"
        description={ADDRESSES[kind].description}
        placeholder={ADDRESSES[kind].placeholder}
        data-autofocus
        value={address}
        error={atField ? add.error?.message : undefined}
        onChange={(event) => setAddress(event.currentTarget.value)}
      />
      {!kinds.includes('email') && (
        <Text size="sm" c="dimmed">
          E-mail is set up by the operator: it needs alerts.smtp in the config file.
        </Text>
      )}
      {!atField && <Failure error={add.error} />}
    </FormDialog>
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
