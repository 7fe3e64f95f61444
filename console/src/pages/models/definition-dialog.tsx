/** The dialogs that add a provider or a model, and change one that was added: what differs is a `DefinitionForm`. */
import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FC, useState } from 'react';
import { changesOf, type Definition } from '../../api/definitions.ts';
import { Conflict, differences, isConflict } from '../../ui/conflict.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Failure } from '../../ui/page.tsx';
import { toast } from '../../ui/toast.tsx';
import { isFields } from './more-fields.tsx';

/** What is typed in. `more`: the fields of the config file that the form has no field for. */
interface AnyDraft {
  readonly name: string;
  readonly more: string;
}

export interface DefinitionForm<Draft extends AnyDraft> {
  readonly what: 'model' | 'provider';
  /** The field of its name, which does not change later. */
  readonly name: { readonly label: string; readonly description: string };
  readonly empty: Draft;
  draftOf(definition: Definition): Draft;
  fieldsOf(draft: Draft): Record<string, unknown>;
  /** `stored`: what is changed; null where one is added. */
  readonly Fields: FC<{ draft: Draft; change: (draft: Draft) => void; stored: Definition | null }>;
  /** Its fields, as somebody is told that another operator has changed them. */
  readonly labels: Readonly<Record<string, string>>;
  add(name: string, fields: object): Promise<{ readonly name: string }>;
  added(name: string): string;
  change(name: string, changes: Record<string, unknown>, version?: number): Promise<unknown>;
}

export function AddDefinition<Draft extends AnyDraft>({
  form,
  close,
}: {
  form: DefinitionForm<Draft>;
  close: () => void;
}) {
  const [draft, setDraft] = useState(form.empty);
  const create = useMutation({
    mutationFn: () => form.add(draft.name.trim(), form.fieldsOf(draft)),
    onSuccess: ({ name }) => {
      toast(form.added(name));
      close();
    },
  });
  return (
    <FormDialog
      title={`Add a ${form.what}`}
      verb="Add it"
      close={close}
      busy={create.isPending}
      submit={() => isFields(draft.more) && create.mutate()}
    >
      <TextInput
        {...form.name}
        data-autofocus
        value={draft.name}
        onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
      />
      <form.Fields draft={draft} change={setDraft} stored={null} />
      <Failure error={create.error} />
    </FormDialog>
  );
}

interface Found {
  readonly data: Definition | undefined;
  readonly error: unknown;
  refetch(): unknown;
}

export function ChangeDefinition<Draft extends AnyDraft>({
  form,
  found,
  close,
}: {
  form: DefinitionForm<Draft>;
  found: Found;
  close: () => void;
}) {
  const { data, error } = found;
  if (data === undefined) return error ? <Failure error={error} /> : <Loading />;
  return <ChangeForm key={data.name} form={form} opened={data} now={data} close={close} reread={found.refetch} />;
}

function ChangeForm<Draft extends AnyDraft>({
  form,
  opened,
  now,
  close,
  reread,
}: {
  form: DefinitionForm<Draft>;
  opened: Definition;
  now: Definition;
  close: () => void;
  reread: () => unknown;
}) {
  const [first] = useState(opened);
  const before = form.draftOf(first);
  const [draft, setDraft] = useState(before);
  const change = useMutation({
    mutationFn: (version: number | undefined) =>
      form.change(first.name, changesOf(form.fieldsOf(before), form.fieldsOf(draft)), version),
    onSuccess: () => {
      toast(`The ${form.what} is changed, on every gateway`);
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
      <form.Fields draft={draft} change={setDraft} stored={first} />
      {isConflict(change.error) ? (
        <Conflict
          what={form.what}
          found={differences(form.labels, asTexts(first.definition), asTexts(now.definition))}
          overwrite={() => change.mutate(undefined)}
        />
      ) : (
        <Failure error={change.error} />
      )}
    </FormDialog>
  );
}

/** So that a reader can be told what differs. */
export function asTexts(definition: Definition['definition']): Record<string, unknown> {
  const entries = Object.entries(definition);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : value]),
  );
}
