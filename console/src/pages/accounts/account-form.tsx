/** Create and edit an account, move it. */
import { SimpleGrid, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type Account, useAccount } from '../../api/accounts.ts';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Conflict, differences, isConflict } from '../../ui/conflict.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Failure } from '../../ui/page.tsx';
import { PeriodSelect } from '../../ui/period-select.tsx';
import { toast } from '../../ui/toast.tsx';
import { LIMIT_NAMES, LimitFields, type Limits, limitSettings, limitsOf, NO_LIMITS } from '../keys/limit-fields.tsx';
import { AccountSelect } from './account-select.tsx';

interface Draft extends Limits {
  readonly name: string;
  readonly parent: string | null;
  readonly external_id: string;
  readonly credit_cap: string;
  readonly credit_period: string;
  readonly token_cap: string;
  readonly token_period: string;
}

const NEW: Draft = {
  ...NO_LIMITS,
  name: '',
  parent: null,
  external_id: '',
  credit_cap: '',
  credit_period: 'month',
  token_cap: '',
  token_period: 'month',
};

const NAMES = {
  name: 'Name',
  external_id: 'Your id',
  credit_cap: 'Cap in credits',
  credit_period: 'Its period',
  token_cap: 'Cap in tokens',
  token_period: 'Its period',
  ...LIMIT_NAMES,
};

/** What an account has anyway. */
const NOT_GIVEN: readonly (string | null)[] = [null, '', 'none', 'all', 'any'];

function draftOf(account: Account): Draft {
  return {
    name: account.name,
    parent: account.parent,
    external_id: account.external_id ?? '',
    credit_cap: account.credit_cap === null ? '' : String(account.credit_cap.amount),
    credit_period: account.credit_cap?.period ?? 'month',
    token_cap: account.token_cap === null ? '' : String(account.token_cap.amount),
    token_period: account.token_cap?.period ?? 'month',
    ...limitsOf(account),
  };
}

function settingsOf(draft: Draft) {
  return {
    name: draft.name.trim(),
    external_id: draft.external_id.trim(),
    credit_cap: draft.credit_cap.trim() === '' ? null : `${draft.credit_cap.trim()}/${draft.credit_period}`,
    token_cap: draft.token_cap.trim() === '' ? null : `${draft.token_cap.trim()}/${draft.token_period}`,
    ...limitSettings(draft),
  };
}

/** Only what was changed: a colleague's edit of another field stays. */
function changesOf(before: Draft, after: Draft): Schemas['AccountChange'] {
  const old = settingsOf(before) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(settingsOf(after)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name])),
  );
}

export function CreateAccount({ below, close }: { below: string | null; close: () => void }) {
  const { mayOperate } = useSession();
  const [draft, setDraft] = useState<Draft>({ ...NEW, parent: below });
  const create = useMutation({
    mutationFn: () => {
      const { name, ...settings } = settingsOf(draft);
      const given = Object.entries(settings).filter(([, value]) => !NOT_GIVEN.includes(value as string | null));
      const body = { name, ...(draft.parent !== null && { parent: draft.parent }), ...Object.fromEntries(given) };
      return call('post', '/admin/v1/accounts', { body });
    },
    onSuccess: () => {
      toast('The account was created');
      close();
    },
  });
  return (
    <FormDialog
      title="Create an account"
      verb="Create account"
      close={close}
      busy={create.isPending}
      submit={create.mutate}
    >
      <AccountSelect
        label="Below"
        placeholder="none: a new customer"
        clearable={mayOperate}
        allowDeselect={mayOperate}
        value={draft.parent}
        error={fieldError(create.error, 'parent')}
        onChange={(parent) => setDraft({ ...draft, parent })}
      />
      <Fields draft={draft} set={setDraft} error={create.error} />
    </FormDialog>
  );
}

export function EditAccount({ of: account, close }: { of: Account; close: () => void }) {
  const [before] = useState(() => draftOf(account));
  const [draft, setDraft] = useState(before);
  const [version, setVersion] = useState(account.version);
  const change = useMutation({
    mutationFn: (over: number) =>
      call('patch', '/admin/v1/accounts/{id}', {
        path: { id: account.id },
        body: changesOf(before, draft),
        version: over,
      }),
    onSuccess: () => {
      toast('Saved');
      close();
    },
  });
  const conflict = isConflict(change.error);
  const fresh = useAccount(account.id, conflict ? 1_000 : 15_000).data ?? account;
  return (
    <FormDialog
      title={`Edit ${account.name}`}
      verb="Save"
      close={close}
      busy={change.isPending}
      submit={() => change.mutate(version)}
    >
      <Fields draft={draft} set={setDraft} error={conflict ? null : change.error} />
      {conflict && (
        <Conflict
          what="account"
          found={differences(NAMES, { ...before }, { ...draftOf(fresh) })}
          overwrite={() => {
            setVersion(fresh.version);
            change.mutate(fresh.version);
          }}
        />
      )}
    </FormDialog>
  );
}

function fieldError(error: Error | null, name: string): string | undefined {
  return error instanceof ApiError && error.field === name ? error.message : undefined;
}

function Fields({ draft, set, error }: { draft: Draft; set: (draft: Draft) => void; error: Error | null }) {
  const { mayOperate } = useSession();
  const text = (name: 'name' | 'credit_cap' | 'token_cap' | 'external_id') => ({
    value: draft[name],
    error: fieldError(error, name),
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => set({ ...draft, [name]: event.currentTarget.value }),
  });
  const shown = error instanceof ApiError && error.field !== null && [...Object.keys(NEW)].includes(error.field);
  return (
    <>
      <TextInput label="Name" data-autofocus {...text('name')} />
      <SimpleGrid cols={2} spacing="sm">
        <TextInput
          label="Cap in credits"
          placeholder="none"
          inputMode="decimal"
          rightSection={<span className="muted">credits</span>}
          rightSectionWidth={64}
          {...text('credit_cap')}
        />
        <PeriodSelect
          label="Period of the credits"
          value={draft.credit_period}
          onChange={(credit_period) => set({ ...draft, credit_period })}
        />
        <TextInput
          label="Cap in tokens"
          placeholder="none"
          inputMode="numeric"
          rightSection={<span className="muted">tokens</span>}
          rightSectionWidth={60}
          {...text('token_cap')}
        />
        <PeriodSelect
          label="Period of the tokens"
          value={draft.token_period}
          onChange={(token_period) => set({ ...draft, token_period })}
        />
      </SimpleGrid>
      <LimitFields limits={draft} set={(part) => set({ ...draft, ...part })} at={(field) => fieldError(error, field)} />
      {mayOperate && <TextInput label="Your id" placeholder="none" {...text('external_id')} />}
      {!shown && <Failure error={error} />}
    </>
  );
}

export function MoveAccount({ of: account, close }: { of: Account; close: () => void }) {
  const [parent, setParent] = useState<string | null>(account.parent);
  const move = useMutation({
    mutationFn: () =>
      call('post', '/admin/v1/accounts/{id}/move', { path: { id: account.id }, body: { parent: parent ?? '' } }),
    onSuccess: () => {
      toast('Moved');
      close();
    },
  });
  const root = useAccount(account.root, 60_000).data;
  return (
    <FormDialog title={`Move ${account.name}`} verb="Move" close={close} busy={move.isPending} submit={move.mutate}>
      <Text size="sm">It keeps its keys and accounts; from now on the caps of its new place count.</Text>
      <AccountSelect
        label="Below"
        allowDeselect={false}
        filters={{ parent: account.root, below: 'yes' }}
        also={root}
        except={account.id}
        value={parent}
        onChange={setParent}
      />
      <Failure error={move.error} />
    </FormDialog>
  );
}
