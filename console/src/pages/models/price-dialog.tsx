/** A price of a model, from now on or from a time on. */
import { Select, SimpleGrid, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, type Schemas } from '../../api/client.ts';
import { cancelPrice, setPrice } from '../../api/definitions.ts';
import type { Model } from '../../api/models.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';

const WHEN = [
  { value: 'now', label: 'Now' },
  { value: 'later', label: 'From a day on' },
];

/** A class that is left empty is not free: the gateway asks for it. */
export function pricingOf(input: string, output: string): Pick<Schemas['NewPrice'], 'pricing'> {
  if (input.trim() === '' && output.trim() === '') return {};
  return {
    pricing: {
      ...(input.trim() !== '' && { input: Number(input) }),
      ...(output.trim() !== '' && { output: Number(output) }),
    },
  };
}

export function SetPrice({ of: model, close }: { of: Model; close: () => void }) {
  const [draft, setDraft] = useState({ input: '', output: '', markup: '', when: 'now', from: '' });
  const set = (field: keyof typeof draft) => (event: { currentTarget: { value: string } }) =>
    setDraft({ ...draft, [field]: event.currentTarget.value });
  const { input, output, markup, when, from } = draft;
  const save = useMutation({
    mutationFn: () =>
      setPrice(model.id, {
        ...pricingOf(input, output),
        ...(markup.trim() !== '' && { markup: Number(markup) }),
        ...(when === 'later' && { from: from.trim() }),
      }),
    onSuccess: () => {
      toast(
        when === 'now' ? 'The price counts from the next request on, on every gateway' : `It counts from ${from} on`,
      );
      close();
    },
  });
  const atFrom = save.error instanceof ApiError && save.error.field === 'from' ? save.error.message : undefined;
  return (
    <FormDialog
      title={`Price of ${model.id}`}
      verb="Set it"
      close={close}
      busy={save.isPending}
      submit={() => save.mutate()}
    >
      <SimpleGrid cols={2} spacing="md">
        <TextInput
          label="Input, USD per million"
          inputMode="decimal"
          data-autofocus
          placeholder="as it is"
          value={input}
          onChange={set('input')}
        />
        <TextInput
          label="Output, USD per million"
          inputMode="decimal"
          placeholder="as it is"
          value={output}
          onChange={set('output')}
        />
      </SimpleGrid>
      <Text size="xs" className="muted">
        They replace the whole price: cached tokens and every other class then cost what input costs. “Change” has the
        rest.
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
      {atFrom === undefined && <Failure error={save.error} />}
    </FormDialog>
  );
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
