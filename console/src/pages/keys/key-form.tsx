/** Create and edit: one form. Limits are folded away; what the gateway refuses is shown at its field. */
import { Anchor, Collapse, Modal, SegmentedControl, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useHasAccounts } from '../../api/accounts.ts';
import { ApiError, call } from '../../api/client.ts';
import { type CreatedKey, type Key, useKey } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Conflict, differences, isConflict } from '../../ui/conflict.tsx';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { Failure } from '../../ui/page.tsx';
import { PeriodSelect } from '../../ui/period-select.tsx';
import { toast } from '../../ui/toast.tsx';
import { AccountSelect } from '../accounts/account-select.tsx';
import { changesOf, type Draft, draftOf, FIELD_NAMES, givenSettingsOf, NEW } from './key-draft.ts';
import { keyName } from './key-format.tsx';
import { LimitFields } from './limit-fields.tsx';

export function CreateKey({
  close,
  created,
  account = null,
}: {
  close: () => void;
  created: (key: CreatedKey) => void;
  account?: string | null;
}) {
  const { session } = useSession();
  const [initial] = useState(() => ({ ...NEW, account: account ?? session?.operator.account_id ?? null }));
  const create = useMutation({
    mutationFn: (draft: Draft) =>
      call('post', '/admin/v1/keys', {
        body: {
          mode: draft.mode,
          ...(draft.account !== null && { account: draft.account }),
          ...(draft.mode === 'credit' && draft.account === null && { credit: draft.credit.trim() }),
          ...givenSettingsOf(draft),
        },
      }),
    onSuccess: created,
  });
  return (
    <KeyForm
      title="Create a key"
      verb="Create key"
      initial={initial}
      close={close}
      error={create.error}
      busy={create.isPending}
      submit={create.mutate}
      isNew
    />
  );
}

export function EditKey({ of: key, close }: { of: Key; close: () => void }) {
  // What the form began with, also when the key is renewed behind it.
  const [before] = useState(() => draftOf(key));
  const [version, setVersion] = useState(key.version);
  const change = useMutation({
    mutationFn: ({ draft, over }: { draft: Draft; over: number }) =>
      call('patch', '/admin/v1/keys/{id}', { path: { id: key.id }, body: changesOf(before, draft), version: over }),
    onSuccess: () => {
      toast('Saved');
      close();
    },
  });
  const conflict = isConflict(change.error) && change.variables !== undefined;
  // The page behind the form has the newer one as soon as it is read.
  const fresh = useKey(key.id, conflict ? 1_000 : 10_000).data ?? key;
  return (
    <KeyForm
      title={`Edit ${keyName(key)}`}
      verb="Save"
      initial={before}
      close={close}
      error={conflict ? null : change.error}
      busy={change.isPending}
      submit={(draft) => change.mutate({ draft, over: version })}
      conflict={
        conflict && (
          <Conflict
            what="key"
            found={differences(FIELD_NAMES, { ...before }, { ...draftOf(fresh) })}
            overwrite={() => {
              setVersion(fresh.version);
              change.mutate({ draft: change.variables.draft, over: fresh.version });
            }}
          />
        )
      }
    />
  );
}

const LIMITS: readonly string[] = [
  ...['rpm_limit', 'tpm_limit', 'parallel_limit', 'runs_limit', 'output_limit'],
  ...['models', 'addresses', 'provider_scope', 'expires_at', 'capture_days'],
];

function KeyForm({
  title,
  verb,
  initial,
  isNew = false,
  close,
  submit,
  error,
  busy,
  conflict,
}: {
  title: string;
  verb: string;
  initial: Draft;
  isNew?: boolean;
  close: () => void;
  submit: (draft: Draft) => void;
  error: Error | null;
  busy: boolean;
  conflict?: ReactNode;
}) {
  const [draft, setDraft] = useState(initial);
  const [limits, setLimits] = useState(!isNew);
  const hasAccounts = useHasAccounts();
  const { mayOperate } = useSession();
  const set = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const field = error instanceof ApiError ? error.field : null;
  const at = (name: string): string | undefined => (field === name ? error?.message : undefined);
  const known = field !== null && field in { ...NEW };
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    submit(draft);
  };
  const inLimits = LIMITS.includes(field ?? '');
  return (
    <Modal opened onClose={close} title={title} size={520} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={onSubmit} noValidate>
        <Stack gap="md">
          <TextInput
            label="Name"
            description="For people: a customer, a team, an application."
            placeholder="acme production"
            data-autofocus
            value={draft.label}
            error={at('label')}
            onChange={(event) => set({ label: event.currentTarget.value })}
          />
          {isNew && mayOperate && (
            <SegmentedControl
              fullWidth
              size="sm"
              aria-label="What the key pays with"
              value={draft.mode}
              onChange={(mode) => set({ mode: mode as Draft['mode'] })}
              data={[
                { value: 'credit', label: 'Prepaid credit' },
                { value: 'token_budget', label: 'Token budget' },
              ]}
            />
          )}
          {isNew && hasAccounts && (
            <AccountSelect
              label="Account"
              description="Who pays for it. Without one it has a balance of its own."
              placeholder="none: it has its own balance"
              clearable={mayOperate}
              allowDeselect={mayOperate}
              value={draft.account}
              error={at('account')}
              onChange={(account) => set({ account })}
            />
          )}
          {draft.mode === 'credit' && draft.account !== null && (
            <SimpleGrid cols={2} spacing="sm">
              <TextInput
                label="Cap"
                placeholder="none"
                inputMode="decimal"
                rightSection={<span className="muted">credits</span>}
                rightSectionWidth={64}
                value={draft.cap}
                error={at('cap')}
                onChange={(event) => set({ cap: event.currentTarget.value })}
              />
              <PeriodSelect value={draft.period} error={at('period')} onChange={(period) => set({ period })} />
            </SimpleGrid>
          )}
          {isNew && draft.mode === 'credit' && draft.account === null && (
            <TextInput
              label="Credit"
              description="What it can spend. More can be added at any time."
              inputMode="decimal"
              rightSection={<span className="muted">credits</span>}
              rightSectionWidth={64}
              value={draft.credit}
              error={at('credit')}
              onChange={(event) => set({ credit: event.currentTarget.value })}
            />
          )}
          {draft.mode === 'token_budget' && (
            <SimpleGrid cols={2} spacing="sm">
              <TextInput
                label="Tokens"
                placeholder="unlimited"
                inputMode="numeric"
                value={draft.budget}
                error={at('budget')}
                onChange={(event) => set({ budget: event.currentTarget.value })}
              />
              <PeriodSelect value={draft.period} error={at('period')} onChange={(period) => set({ period })} />
            </SimpleGrid>
          )}
          {isNew && (
            <Anchor
              component="button"
              type="button"
              size="sm"
              ta="left"
              onClick={() => setLimits(!limits)}
              aria-expanded={limits}
            >
              {limits ? 'Hide limits' : 'Limits: all models, no rate limit, never expires'}
            </Anchor>
          )}
          <Collapse expanded={limits || inLimits}>
            <Stack gap="md">
              <LimitFields limits={draft} set={set} at={at}>
                <TextInput
                  label="Expires"
                  type="date"
                  value={draft.expires_at}
                  error={at('expires_at')}
                  onChange={(event) => set({ expires_at: event.currentTarget.value })}
                />
                {mayOperate && (
                  <TextInput
                    label="Keep content for"
                    placeholder="not kept"
                    inputMode="numeric"
                    rightSection={<span className="muted">days</span>}
                    rightSectionWidth={52}
                    value={draft.capture_days}
                    error={at('capture_days')}
                    onChange={(event) => set({ capture_days: event.currentTarget.value })}
                  />
                )}
              </LimitFields>
              {mayOperate && (
                <TextInput
                  label="Provider"
                  description="One provider that it is limited to, or “all”."
                  value={draft.provider_scope}
                  error={at('provider_scope')}
                  onChange={(event) => set({ provider_scope: event.currentTarget.value })}
                />
              )}
            </Stack>
          </Collapse>
          {conflict}
          {!known && <Failure error={error} />}
          <FormButtons close={close} verb={verb} busy={busy} />
        </Stack>
      </form>
    </Modal>
  );
}
