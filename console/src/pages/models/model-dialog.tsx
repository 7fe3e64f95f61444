/** Add a model, change one that was added, remove it. */
import { Select, SimpleGrid, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import {
  changeModel,
  changesOf,
  createModel,
  type Definition,
  removeModel,
  useModelDefinition,
} from '../../api/definitions.ts';
import { useProviders } from '../../api/models.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Conflict, differences, isConflict } from '../../ui/conflict.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { fieldsIn, isFields, MoreFields, othersOf } from './more-fields.tsx';
import { pricingOf } from './price-dialog.tsx';

interface Draft {
  readonly id: string;
  readonly provider: string;
  readonly upstream: string;
  readonly input: string;
  readonly output: string;
  readonly markup: string;
  readonly more: string;
}

const NEW: Draft = { id: '', provider: '', upstream: '', input: '', output: '', markup: '', more: '' };
const NAMES = {
  provider: 'Provider',
  targets: 'Targets',
  pricing: 'Price',
  markup: 'Mark-up',
  prices: 'Prices to come',
};

function draftOf({ name, definition }: Definition): Draft {
  const pricing = Object(definition.pricing) as Record<string, unknown>;
  const [target, ...others] = Array.isArray(definition.targets) ? (definition.targets as unknown[]) : [];
  const { provider, model, ...rest } = Object(target) as Record<string, unknown>;
  // What a form of two fields cannot say stays with the other fields.
  const simple = others.length === 0 && Object.keys(rest).length === 0;
  const { input, output, ...classes } = pricing;
  const plain = Object.keys(classes).length === 0;
  const shown = [...(plain ? ['pricing'] : []), ...(simple ? ['targets', 'provider'] : []), 'markup'];
  return {
    id: name,
    provider: simple ? String(provider ?? definition.provider ?? '') : '',
    upstream: simple ? String(model ?? '') : '',
    input: plain ? String(input ?? '') : '',
    output: plain ? String(output ?? '') : '',
    markup: String(definition.markup ?? ''),
    more: othersOf(definition, shown),
  };
}

function fieldsOf({ provider, upstream, input, output, markup, more }: Draft): Record<string, unknown> {
  return {
    ...fieldsIn(more),
    ...(provider !== '' && { provider }),
    ...(upstream.trim() !== '' && { targets: [{ provider, model: upstream.trim() }] }),
    ...pricingOf(input, output),
    ...(markup.trim() !== '' && { markup: Number(markup) }),
  };
}

export function AddModel({ close }: { close: () => void }) {
  const [draft, setDraft] = useState(NEW);
  const create = useMutation({
    mutationFn: () => createModel(draft.id.trim(), fieldsOf(draft)),
    onSuccess: ({ name }) => {
      toast(`${name} can be asked for now`);
      close();
    },
  });
  return (
    <FormDialog
      title="Add a model"
      verb="Add it"
      close={close}
      busy={create.isPending}
      submit={() => isFields(draft.more) && create.mutate()}
    >
      <TextInput
        label="Id"
        description="What clients ask for."
        data-autofocus
        value={draft.id}
        onChange={(event) => setDraft({ ...draft, id: event.currentTarget.value })}
      />
      <ModelFields draft={draft} change={setDraft} />
      <Failure error={create.error} />
    </FormDialog>
  );
}

export function ChangeModel({ id, close }: { id: string; close: () => void }) {
  const found = useModelDefinition(id);
  if (found.data === undefined) return found.error ? <Failure error={found.error} /> : <Loading />;
  return <ChangeForm opened={found.data} now={found.data} close={close} reread={found.refetch} />;
}

function ChangeForm({
  opened,
  now,
  close,
  reread,
}: {
  opened: Definition;
  now: Definition;
  close: () => void;
  reread: () => unknown;
}) {
  const [first] = useState(opened);
  const before = draftOf(first);
  const [draft, setDraft] = useState(before);
  const change = useMutation({
    mutationFn: (version: number | undefined) =>
      changeModel(first.name, changesOf(fieldsOf(before), fieldsOf(draft)), version),
    onSuccess: () => {
      toast('The model is changed, on every gateway');
      close();
    },
    onError: (error) => isConflict(error) && reread(),
  });
  return (
    <FormDialog
      title={`Change ${first.name}`}
      verb="Save"
      close={close}
      busy={change.isPending}
      submit={() => isFields(draft.more) && change.mutate(first.version)}
    >
      <ModelFields draft={draft} change={setDraft} />
      {isConflict(change.error) ? (
        <Conflict
          what="model"
          found={differences(NAMES, asTexts(first.definition), asTexts(now.definition))}
          overwrite={() => change.mutate(undefined)}
        />
      ) : (
        <Failure error={change.error} />
      )}
    </FormDialog>
  );
}

function asTexts(definition: Definition['definition']): Record<string, unknown> {
  const entries = Object.entries(definition);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : value]),
  );
}

function ModelFields({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const providers = useProviders();
  const set = (field: keyof Draft) => (event: { currentTarget: { value: string } }) =>
    change({ ...draft, [field]: event.currentTarget.value });
  return (
    <>
      <Select
        label="Provider"
        data={providers.data?.map(({ name }) => name) ?? []}
        searchable
        value={draft.provider === '' ? null : draft.provider}
        onChange={(provider) => change({ ...draft, provider: provider ?? '' })}
      />
      <TextInput
        label="Its name there"
        description="For Azure the deployment. Empty: the id above."
        value={draft.upstream}
        onChange={set('upstream')}
      />
      <SimpleGrid cols={2} spacing="md">
        <TextInput
          label="Input, USD per million"
          inputMode="decimal"
          placeholder="published price"
          value={draft.input}
          onChange={set('input')}
        />
        <TextInput
          label="Output, USD per million"
          inputMode="decimal"
          placeholder="published price"
          value={draft.output}
          onChange={set('output')}
        />
      </SimpleGrid>
      <TextInput
        label="Mark-up"
        description="What callers pay per unit of the price: 1.2 adds a fifth. Empty: the provider's."
        inputMode="decimal"
        value={draft.markup}
        onChange={set('markup')}
      />
      <MoreFields value={draft.more} onChange={(more) => change({ ...draft, more })} />
    </>
  );
}

export function RemoveModel({ id, close, then }: { id: string; close: () => void; then: () => void }) {
  return (
    <Confirm
      title={`Remove ${id}?`}
      verb="Remove it"
      dangerous
      act={() => removeModel(id)}
      done={() => {
        then();
        return 'The model is removed';
      }}
      close={close}
    >
      Requests for it are refused (404) from the next one on; those that run now finish. What was charged stays in the
      reports.
    </Confirm>
  );
}
