/** Add a provider, change one that was added, remove it. */
import { Select, TextInput } from '@mantine/core';
import {
  changeProvider,
  createProvider,
  type Definition,
  removeProvider,
  useProviderDefinition,
} from '../../api/definitions.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { AddDefinition, ChangeDefinition, type DefinitionForm } from './definition-dialog.tsx';
import { fieldsIn, MoreFields, othersOf } from './more-fields.tsx';

interface Draft {
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
  /** Never filled in: what is stored is not shown. Empty leaves it as it is. */
  readonly api_key: string;
  readonly markup: string;
  readonly more: string;
}

const NEW: Draft = { name: '', kind: '', base_url: '', api_key: '', markup: '', more: '' };
const NAMES = { kind: 'Kind', base_url: 'Address', api_key: 'Credential', markup: 'Mark-up' };
const SHOWN = ['kind', 'base_url', 'api_key', 'markup'];
const KINDS = [
  { value: 'openai', label: 'OpenAI-compatible' },
  { value: 'anthropic', label: 'Anthropic' },
  { value: 'azure', label: 'Azure OpenAI' },
];

function draftOf({ name, definition }: Definition): Draft {
  const textOf = (field: string): string => String(definition[field] ?? '');
  return {
    name,
    kind: textOf('kind'),
    base_url: textOf('base_url'),
    api_key: '',
    markup: textOf('markup'),
    more: othersOf(definition, SHOWN),
  };
}

function fieldsOf({ kind, base_url, api_key, markup, more }: Draft): Record<string, unknown> {
  return {
    ...fieldsIn(more),
    ...(kind !== '' && { kind }),
    ...(base_url.trim() !== '' && { base_url: base_url.trim() }),
    ...(api_key.trim() !== '' && { api_key: api_key.trim() }),
    ...(markup.trim() !== '' && { markup: Number(markup) }),
  };
}

const FORM: DefinitionForm<Draft> = {
  what: 'provider',
  name: {
    label: 'Name',
    description: 'Models refer to it. Well-known names such as groq bring their address along.',
  },
  empty: NEW,
  draftOf,
  fieldsOf,
  Fields: ProviderFields,
  labels: NAMES,
  add: createProvider,
  added: (name) => `${name} can be used by models now`,
  change: changeProvider,
};

export function AddProvider({ close }: { close: () => void }) {
  return <AddDefinition form={FORM} close={close} />;
}

export function ChangeProvider({ name, close }: { name: string; close: () => void }) {
  return <ChangeDefinition form={FORM} found={useProviderDefinition(name)} close={close} />;
}

function ProviderFields({
  draft,
  change,
  stored,
}: {
  draft: Draft;
  change: (draft: Draft) => void;
  stored: Definition | null;
}) {
  return (
    <>
      <Select
        label="Kind"
        description="The API that it offers."
        placeholder="known by its name"
        data={KINDS}
        clearable
        value={draft.kind === '' ? null : draft.kind}
        onChange={(kind) => change({ ...draft, kind: kind ?? '' })}
      />
      <TextInput
        label="Address"
        description="Up to and including /v1 for OpenAI-compatible servers; without a path for the others."
        placeholder="https://llm.example.com/v1"
        value={draft.base_url}
        onChange={(event) => change({ ...draft, base_url: event.currentTarget.value })}
      />
      <TextInput
        label="Credential"
        type="password"
        autoComplete="new-password"
        description={
          stored?.definition.api_key !== undefined
            ? 'One is stored, sealed, and cannot be shown. What you type here takes its place.'
            : 'Stored sealed, and never shown again.'
        }
        value={draft.api_key}
        onChange={(event) => change({ ...draft, api_key: event.currentTarget.value })}
      />
      <TextInput
        label="Mark-up"
        description="What callers pay per unit of its prices: 1.2 adds a fifth. A model's own counts instead."
        inputMode="decimal"
        placeholder="1"
        value={draft.markup}
        onChange={(event) => change({ ...draft, markup: event.currentTarget.value })}
      />
      <MoreFields value={draft.more} onChange={(more) => change({ ...draft, more })} />
    </>
  );
}

export function RemoveProvider({ name, close }: { name: string; close: () => void }) {
  return (
    <Confirm
      title={`Remove ${name}?`}
      verb="Remove it"
      dangerous
      act={() => removeProvider(name)}
      done={() => 'The provider is removed'}
      close={close}
    >
      Its credential is forgotten. Models that are served by it have to be changed or removed first.
    </Confirm>
  );
}
