/** Add a model, change one that was added, remove it. */
import { Select, SimpleGrid, TextInput } from '@mantine/core';
import { changeModel, createModel, type Definition, removeModel, useModelDefinition } from '../../api/definitions.ts';
import { useProviders } from '../../api/models.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { AddDefinition, ChangeDefinition, type DefinitionForm } from './definition-dialog.tsx';
import { fieldsIn, MoreFields, othersOf } from './more-fields.tsx';

interface Draft {
  readonly name: string;
  readonly provider: string;
  readonly upstream: string;
  readonly input: string;
  readonly output: string;
  readonly markup: string;
  readonly more: string;
}

const NEW: Draft = { name: '', provider: '', upstream: '', input: '', output: '', markup: '', more: '' };
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
    name,
    provider: simple ? String(provider ?? definition.provider ?? '') : '',
    upstream: simple ? String(model ?? '') : '',
    input: plain ? String(input ?? '') : '',
    output: plain ? String(output ?? '') : '',
    markup: String(definition.markup ?? ''),
    more: othersOf(definition, shown),
  };
}

/** A class that is left empty is not free: the gateway asks for it. */
function pricingOf(input: string, output: string): { readonly pricing?: Readonly<Record<string, number>> } {
  if (input.trim() === '' && output.trim() === '') return {};
  return {
    pricing: {
      ...(input.trim() !== '' && { input: Number(input) }),
      ...(output.trim() !== '' && { output: Number(output) }),
    },
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

const FORM: DefinitionForm<Draft> = {
  what: 'model',
  name: { label: 'Id', description: 'What clients ask for.' },
  empty: NEW,
  draftOf,
  fieldsOf,
  Fields: ModelFields,
  labels: NAMES,
  add: createModel,
  added: (name) => `${name} can be asked for now`,
  change: changeModel,
};

export function AddModel({ close }: { close: () => void }) {
  return <AddDefinition form={FORM} close={close} />;
}

export function ChangeModel({ id, close }: { id: string; close: () => void }) {
  return <ChangeDefinition form={FORM} found={useModelDefinition(id)} close={close} />;
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
