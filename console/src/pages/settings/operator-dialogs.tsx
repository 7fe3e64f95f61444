/** Adding an operator, and everything that is done to one: its role, its tokens, a link to sign in, its end. */
import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { Dot, Id, Time } from '../../ui/values.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import css from './settings.module.css';

type Role = Schemas['NewOperator']['role'];
type Operator = Schemas['Operator'];

const ROLES: readonly { readonly value: Role; readonly label: string }[] = [
  { value: 'viewer', label: 'viewer: sees everything, changes nothing' },
  { value: 'operator', label: 'operator: keys, accounts and credit' },
  { value: 'owner', label: 'owner: also operators and settings' },
  { value: 'account-admin', label: 'account-admin: one account and what is below it' },
];

interface RoleFieldsProps {
  readonly role: Role;
  readonly account: string | null;
  readonly error: Error | null;
  readonly set: (role: Role, account: string | null) => void;
}

function RoleFields({ role, account, error, set }: RoleFieldsProps) {
  const atAccount = error instanceof ApiError && error.field === 'account_id';
  return (
    <>
      <Select
        label="Role"
        allowDeselect={false}
        value={role}
        onChange={(value) => set((value ?? 'viewer') as Role, account)}
        data={[...ROLES]}
      />
      {role === 'account-admin' && (
        <AccountSelect
          label="Account"
          description="It sees and changes this one and those below it, and nothing else."
          allowDeselect={false}
          value={account}
          error={atAccount ? error.message : undefined}
          onChange={(chosen) => set(role, chosen)}
        />
      )}
    </>
  );
}

function bodyOf(role: Role, account: string | null) {
  return { role, ...(role === 'account-admin' && { account_id: account }) };
}

export function AddOperator({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [[role, account], setRole] = useState<readonly [Role, string | null]>(['viewer', null]);
  const [expires, setExpires] = useState('');
  const add = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/operators', {
        body: { name: name.trim(), ...bodyOf(role, account), ...(expires !== '' && { expires_at: expires }) },
      }),
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
      title={add.data ? `The token of ${add.data.operator.name}` : 'Add an operator'}
      size={480}
      closeOnClickOutside={!add.data}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {add.data ? (
        <ShownOnce
          text="Give it to them now. It is shown only once, and signs in here and on the command line."
          label="Operator token"
          secret={add.data.token}
          close={close}
        />
      ) : (
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <TextInput
              label="Name"
              data-autofocus
              value={name}
              error={field === 'name' ? add.error?.message : undefined}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <RoleFields role={role} account={account} error={add.error} set={(...next) => setRole(next)} />
            <TextInput
              label="The token expires"
              description="After 90 days where nothing is said, after a year at the latest."
              type="date"
              value={expires}
              error={field === 'expires_at' ? add.error?.message : undefined}
              onChange={(event) => setExpires(event.currentTarget.value)}
            />
            {!['name', 'expires_at', 'account_id'].includes(field ?? '') && <Failure error={add.error} />}
            <FormButtons close={close} verb="Add" busy={add.isPending} />
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function ShownOnce({
  text,
  label,
  secret,
  close,
}: {
  text: ReactNode;
  label: string;
  secret: string;
  close: () => void;
}) {
  return (
    <Stack gap="md">
      <Text size="sm">{text}</Text>
      <Code label={label} text={secret} />
      <Group justify="flex-end">
        <Button onClick={close}>I have copied it</Button>
      </Group>
    </Stack>
  );
}

const PATH = '/admin/v1/operators/{id}';

export function ManageOperator({ id, close }: { id: string; close: () => void }) {
  const { data, error } = useQuery({
    queryKey: ['operators', id],
    queryFn: ({ signal }) => call('get', PATH, { path: { id }, signal }),
  });
  return (
    <Modal
      opened
      onClose={close}
      title={data?.name ?? 'Operator'}
      size={560}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Failure error={error} />
      {data === undefined ? error === null && <Loading /> : <Manage of={data} close={close} />}
    </Modal>
  );
}

/** What was made and is shown once. */
type Made =
  | { readonly kind: 'token'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly fingerprint: string | null };

function Manage({ of: operator, close }: { of: Operator; close: () => void }) {
  const [made, setMade] = useState<Made | null>(null);
  const path = { id: operator.id };
  const token = useMutation({
    mutationFn: () => call('post', '/admin/v1/operators/{id}/tokens', { path, body: {} }),
    onSuccess: (issued) => setMade({ kind: 'token', text: issued.token }),
  });
  const link = useMutation({
    mutationFn: () => call('post', '/admin/v1/operators/{id}/link', { path }),
    onSuccess: ({ url, certificate_sha256 }) => setMade({ kind: 'link', text: url, fingerprint: certificate_sha256 }),
  });
  if (made !== null) {
    const text =
      made.kind === 'token'
        ? 'It is shown only once. The older tokens keep working until you revoke them.'
        : `It signs in once, within 15 minutes.${
            made.fingerprint === null ? '' : ` The browser has to show this SHA-256 fingerprint: ${made.fingerprint}`
          }`;
    const label = made.kind === 'token' ? 'Operator token' : 'Link to sign in';
    return <ShownOnce text={text} label={label} secret={made.text} close={close} />;
  }
  return (
    <Stack gap="lg">
      {!operator.built_in && <ChangeRole of={operator} />}
      <div>
        <h3 className={css.part}>Tokens</h3>
        <Tokens of={operator} />
        <Group gap="xs" mt="sm">
          <Button variant="default" loading={token.isPending} onClick={() => token.mutate()}>
            New token
          </Button>
          <Button variant="default" loading={link.isPending} onClick={() => link.mutate()}>
            New link to sign in
          </Button>
        </Group>
        <Failure error={token.error ?? link.error} />
      </div>
      {!operator.built_in && <Revoke of={operator} close={close} />}
    </Stack>
  );
}

function ChangeRole({ of: { id, role: before, account_id } }: { of: Operator }) {
  const [[role, account], setRole] = useState<readonly [Role, string | null]>([before, account_id]);
  const change = useMutation({
    mutationFn: () => call('patch', PATH, { path: { id }, body: bodyOf(role, account) }),
    onSuccess: () => toast('The role counts from the next request on'),
  });
  const changed = role !== before || account !== account_id;
  return (
    <Stack gap="sm">
      <RoleFields role={role} account={account} error={change.error} set={(...next) => setRole(next)} />
      <Failure error={change.error} />
      {changed && (
        <Group>
          <Button loading={change.isPending} onClick={() => change.mutate()}>
            Change the role
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function Tokens({ of: { id, tokens } }: { of: Operator }) {
  const revoke = useMutation({
    mutationFn: (tokenId: string) =>
      call('delete', '/admin/v1/operators/{id}/tokens/{token_id}', { path: { id, token_id: tokenId } }),
    onSuccess: () => toast('The token no longer works'),
  });
  if (tokens.length === 0) return <p className="muted">none</p>;
  return (
    <>
      <Failure error={revoke.error} />
      <ul className={css.tokens}>
        {tokens.map((token) => (
          <li key={token.id}>
            <Id value={token.id} />
            <Dot tone={token.status === 'active' ? 'ok' : 'neutral'}>
              {token.status}, expires <Time at={token.expires_at} />
            </Dot>
            {token.status === 'active' && (
              <Button
                variant="subtle"
                color="red"
                size="compact-xs"
                aria-label={`Revoke the token ${token.id}`}
                loading={revoke.isPending}
                onClick={() => revoke.mutate(token.id)}
              >
                Revoke
              </Button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** In two steps, because it is final. */
function Revoke({ of: { id, name }, close }: { of: Operator; close: () => void }) {
  const [asked, setAsked] = useState(false);
  const revoke = useMutation({
    mutationFn: () => call('delete', PATH, { path: { id } }),
    onSuccess: () => {
      toast(`${name} is revoked`);
      close();
    },
  });
  return (
    <div>
      <h3 className={css.part}>Revoke</h3>
      <Text size="sm">All of its tokens and sessions end at once. An operator who was revoked does not come back.</Text>
      <Failure error={revoke.error} />
      <Group gap="xs" mt="sm">
        {asked ? (
          <>
            <Button color="red.8" loading={revoke.isPending} onClick={() => revoke.mutate()}>
              Revoke {name} for ever
            </Button>
            <Button variant="default" onClick={() => setAsked(false)}>
              Keep it
            </Button>
          </>
        ) : (
          <Button variant="default" color="red" onClick={() => setAsked(true)}>
            Revoke the operator…
          </Button>
        )}
      </Group>
    </div>
  );
}
