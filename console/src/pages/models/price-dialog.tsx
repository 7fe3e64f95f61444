/** A price of a model, from now on or from a time on. */
import { Select, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { cancelPrice, type Definition, setPrice, useModelDefinition } from '../../api/definitions.ts';
import type { Model } from '../../api/models.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Conflict, differences, isConflict } from '../../ui/conflict.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { asTexts } from './definition-dialog.tsx';

const WHEN = [
  { value: 'now', label: 'Now' },
  { value: 'later', label: 'From a day on' },
];

type Pricing = Readonly<Record<string, unknown>>;

const MAIN = ['input', 'output'];
const LABELS = { pricing: 'Price', markup: 'Mark-up', prices: 'Prices to come' };

/** What counts now: changes that have taken effect by now come on top of what the model began with. */
function termsOf({ definition }: Definition, nowMs: number): { readonly pricing: Pricing; readonly markup: string } {
  const changes = (Array.isArray(definition.prices) ? definition.prices : []) as readonly Record<string, unknown>[];
  const atMs = ({ from }: Record<string, unknown>): number => Date.parse(String(from));
  const past = changes.filter((change) => atMs(change) <= nowMs).toSorted((a, b) => atMs(a) - atMs(b));
  const { pricing, markup } = Object.assign({}, definition, ...past) as Record<string, unknown>;
  return { pricing: Object(pricing) as Pricing, markup: String(markup ?? '') };
}

export function SetPrice({ of: { id }, close }: { of: Model; close: () => void }) {
  const { data, error, refetch } = useModelDefinition(id);
  if (data === undefined) return error ? <Failure error={error} /> : <Loading />;
  return <PriceForm now={data} close={close} reread={refetch} />;
}

function PriceForm({ now, close, reread }: { now: Definition; close: () => void; reread: () => unknown }) {
  const [first] = useState(now);
  const [terms] = useState(() => termsOf(first, Date.now()));
  const others = Object.keys(terms.pricing).filter(
    (name) => !MAIN.includes(name) && typeof terms.pricing[name] === 'number',
  );
  const classes = [...MAIN, ...others];
  const shown = Object.fromEntries(classes.map((name) => [name, String(terms.pricing[name] ?? '')]));
  const [rates, setRates] = useState<Readonly<Record<string, string>>>(shown);
  const edits = Object.fromEntries(Object.entries(rates).filter(([name, rate]) => rate !== shown[name]));
  const [draft, setDraft] = useState({ markup: terms.markup, when: 'now', from: '' });
  const set = (field: keyof typeof draft) => (event: { currentTarget: { value: string } }) =>
    setDraft({ ...draft, [field]: event.currentTarget.value });
  const { markup, when, from } = draft;
  const save = useMutation({
    mutationFn: (version: number | undefined) =>
      setPrice(
        first.name,
        {
          // On top of what it has by now, which may not be what the form began with.
          ...(Object.keys(edits).length > 0 && { pricing: changed(termsOf(now, Date.now()).pricing, edits) }),
          ...(markup.trim() !== '' && markup !== terms.markup && { markup: Number(markup) }),
          ...(when === 'later' && { from: from.trim() }),
        },
        version,
      ),
    onSuccess: () => {
      toast(
        when === 'now' ? 'The price counts from the next request on, on every gateway' : `It counts from ${from} on`,
      );
      close();
    },
    onError: (error) => isConflict(error) && reread(),
  });
  const atFrom = save.error instanceof ApiError && save.error.field === 'from' ? save.error.message : undefined;
  const published = Object.keys(terms.pricing).length === 0;
  return (
    <FormDialog
      title={`Price of ${first.name}`}
      verb="Set it"
      close={close}
      busy={save.isPending}
      submit={() => save.mutate(first.version)}
    >
      <SimpleGrid cols={2} spacing="md">
        {classes.map((name, index) => (
          <TextInput
            key={name}
            label={`${labelOf(name)}, USD per million`}
            inputMode="decimal"
            {...(index === 0 && { 'data-autofocus': true })}
            placeholder={published ? 'published price' : 'as input'}
            value={rates[name] ?? ''}
            onChange={(event) => setRates({ ...rates, [name]: event.currentTarget.value })}
          />
        ))}
      </SimpleGrid>
      <Text size="xs" className="muted">
        {published
          ? 'It has the published price of the provider. A price that is set here replaces all of it: cached tokens and every other class then cost what input costs. “Change” has the rest.'
          : `What is not changed here stays as it is${'tiers' in terms.pricing ? ', prices of long inputs too, which “Change” has' : ''}.`}
      </Text>
      <TextInput
        label="Mark-up"
        description="What callers pay per unit of it: 1.2 adds a fifth."
        inputMode="decimal"
        placeholder="as it is"
        value={markup}
        onChange={set('markup')}
      />
      <Select
        label="It counts"
        data={WHEN}
        allowDeselect={false}
        value={when}
        onChange={(chosen) => setDraft({ ...draft, when: chosen ?? 'now' })}
      />
      {when === 'later' && (
        <TextInput
          label="From"
          description="A day, which begins at 00:00 UTC, or a time with its zone, like 2027-01-01T00:00:00+01:00."
          placeholder="2027-01-01"
          value={from}
          error={atFrom}
          onChange={set('from')}
        />
      )}
      {isConflict(save.error) ? (
        <Conflict
          what="model"
          found={differences(LABELS, asTexts(first.definition), asTexts(now.definition))}
          overwrite={() => save.mutate(undefined)}
        />
      ) : (
        atFrom === undefined && <Failure error={save.error} />
      )}
    </FormDialog>
  );
}

/** The price with those classes that were typed in; one whose field was emptied is taken out. */
function changed(pricing: Pricing, edits: Readonly<Record<string, string>>): Record<string, unknown> {
  const kept = Object.entries(pricing).filter(([name]) => !(name in edits));
  const given = Object.entries(edits).filter(([, rate]) => rate.trim() !== '');
  return Object.fromEntries([...kept, ...given.map(([name, rate]) => [name, Number(rate)] as const)]);
}

/** Of a class of tokens. */
export function labelOf(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`;
}

export function CancelPrice({ id, from, close }: { id: string; from: string; close: () => void }) {
  return (
    <Confirm
      title="Cancel this price?"
      verb="Cancel it"
      keep="Keep it"
      dangerous
      act={() => cancelPrice(id, from)}
      done={() => 'The price will not change'}
      close={close}
    >
      {id} keeps the price that it has until then.
    </Confirm>
  );
}
