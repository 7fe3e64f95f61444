/** Create and edit: one form. Limits are folded away; what the gateway refuses is shown at its field. */
import {
  Anchor,
  Collapse,
  Modal,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { useModelNames } from '../../api/models.ts';
import type { CreatedKey, Key } from '../../api/queries.ts';
import { FormButtons } from '../../ui/form-buttons.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { keyName } from './key-words.tsx';

interface Draft {
  readonly label: string;
  readonly mode: Key['mode'];
  readonly credit: string;
  readonly budget: string;
  readonly period: string;
  readonly rpm_limit: string;
  readonly models: readonly string[];
  readonly provider_scope: string;
  readonly expires_at: string;
}

const NEW: Draft = {
  label: '',
  mode: 'credit',
  credit: '5',
  budget: '1000000',
  period: 'month',
  rpm_limit: '',
  models: [],
  provider_scope: 'all',
  expires_at: '',
};

function draftOf(key: Key): Draft {
  return {
    ...NEW,
    label: key.label ?? '',
    mode: key.mode,
    budget: key.mode === 'token_budget' && key.budget !== null ? String(key.budget) : '',
    period: key.mode === 'token_budget' ? key.period : 'month',
    rpm_limit: key.rpm_limit === null ? '' : String(key.rpm_limit),
    models: key.models ?? [],
    provider_scope: key.provider_scope,
    expires_at: key.expires_at === null ? '' : key.expires_at.slice(0, 10),
  };
}

function settingsOf(draft: Draft) {
  return {
    label: draft.label.trim(),
    provider_scope: draft.provider_scope.trim() === '' ? 'all' : draft.provider_scope.trim(),
    models: draft.models.length === 0 ? ('all' as const) : [...draft.models],
    rpm_limit: draft.rpm_limit.trim() === '' ? ('none' as const) : draft.rpm_limit.trim(),
    expires_at: draft.expires_at === '' ? 'never' : draft.expires_at,
    ...(draft.mode === 'token_budget' && {
      budget: draft.budget.trim() === '' ? ('unlimited' as const) : draft.budget.trim(),
      period: draft.period as Schemas['NewKey']['period'],
    }),
  };
}

/** Only what was changed: a colleague's edit of another field stays. */
function changesOf(before: Draft, after: Draft): Schemas['KeyChange'] {
  const old = settingsOf(before) as Record<string, unknown>;
  const changed = Object.entries(settingsOf(after)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]),
  );
  return Object.fromEntries(changed);
}

export function CreateKey({ close, created }: { close: () => void; created: (key: CreatedKey) => void }) {
  const create = useMutation({
    mutationFn: (draft: Draft) =>
      call('post', '/admin/v1/keys', {
        body: {
          mode: draft.mode,
          ...(draft.mode === 'credit' && { credit: draft.credit.trim() }),
          ...settingsOf(draft),
        },
      }),
    onSuccess: created,
  });
  return (
    <KeyForm
      title="Create a key"
      verb="Create key"
      initial={NEW}
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
  const change = useMutation({
    mutationFn: (draft: Draft) =>
      call('patch', '/admin/v1/keys/{id}', { path: { id: key.id }, body: changesOf(before, draft) }),
    onSuccess: () => {
      toast('Saved');
      close();
    },
  });
  return (
    <KeyForm
      title={`Edit ${keyName(key)}`}
      verb="Save"
      initial={before}
      close={close}
      error={change.error}
      busy={change.isPending}
      submit={change.mutate}
    />
  );
}

function KeyForm({
  title,
  verb,
  initial,
  isNew = false,
  close,
  submit,
  error,
  busy,
}: {
  title: string;
  verb: string;
  initial: Draft;
  isNew?: boolean;
  close: () => void;
  submit: (draft: Draft) => void;
  error: Error | null;
  busy: boolean;
}) {
  const [draft, setDraft] = useState(initial);
  const [limits, setLimits] = useState(!isNew);
  const models = useModelNames();
  const set = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const field = error instanceof ApiError ? error.field : null;
  const at = (name: string): string | undefined => (field === name ? error?.message : undefined);
  const known = field !== null && field in { ...NEW };
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    submit(draft);
  };
  const inLimits = ['rpm_limit', 'models', 'provider_scope', 'expires_at'].includes(field ?? '');
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
          {isNew && (
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
          {isNew && draft.mode === 'credit' && (
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
              <Select
                label="Period"
                allowDeselect={false}
                value={draft.period}
                error={at('period')}
                onChange={(period) => set({ period: period ?? 'month' })}
                data={[
                  { value: 'day', label: 'per day' },
                  { value: 'week', label: 'per week' },
                  { value: 'month', label: 'per month' },
                  { value: 'none', label: 'in all' },
                ]}
              />
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
              <SimpleGrid cols={2} spacing="sm">
                <TextInput
                  label="Requests per minute"
                  placeholder="no limit"
                  inputMode="numeric"
                  value={draft.rpm_limit}
                  error={at('rpm_limit')}
                  onChange={(event) => set({ rpm_limit: event.currentTarget.value })}
                />
                <TextInput
                  label="Expires"
                  type="date"
                  value={draft.expires_at}
                  error={at('expires_at')}
                  onChange={(event) => set({ expires_at: event.currentTarget.value })}
                />
              </SimpleGrid>
              <TagsInput
                label="Models"
                placeholder={draft.models.length === 0 ? 'all models' : ''}
                data={[...models]}
                value={[...draft.models]}
                error={at('models')}
                onChange={(chosen) => set({ models: chosen })}
              />
              <TextInput
                label="Provider"
                description="One provider that it is limited to, or “all”."
                value={draft.provider_scope}
                error={at('provider_scope')}
                onChange={(event) => set({ provider_scope: event.currentTarget.value })}
              />
            </Stack>
          </Collapse>
          {!known && <Failure error={error} />}
          <FormButtons close={close} verb={verb} busy={busy} />
        </Stack>
      </form>
    </Modal>
  );
}
