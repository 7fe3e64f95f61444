/** Models and providers: what is offered at which price, and how those do that serve it. */
import { Button, Group } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../../api/client.ts';
import { type Definition, useDefinitions } from '../../api/definitions.ts';
import { type Model, type Provider, useModels, useProviders } from '../../api/models.ts';
import { useSession } from '../../api/session.tsx';
import { count, plural } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Dot } from '../../ui/values.tsx';
import { AddModel, RemoveModel } from './model-dialog.tsx';
import { definedByText, Health, Limit, marginText, priceText, restText } from './model-format.tsx';
import { modelHref } from './model-href.ts';
import { AddProvider, ChangeProvider, RemoveProvider } from './provider-dialog.tsx';

const MODEL_COLUMNS: readonly Column<Model>[] = [
  {
    id: 'id',
    header: 'Model',
    value: ({ id }) => id,
    cell: ({ id }) => <Link href={modelHref(id)}>{id}</Link>,
  },
  {
    id: 'price',
    header: 'USD per million, in / out',
    value: ({ price }) => price.value.input ?? 0,
    cell: (model) => priceText(model),
    right: true,
  },
  {
    id: 'margin',
    header: 'Margin',
    value: ({ markup }) => markup,
    cell: (model) => marginText(model),
    right: true,
    minor: true,
  },
  {
    id: 'window',
    header: 'Context window',
    value: ({ context_window }) => context_window.value,
    cell: ({ context_window }) => <Limit of={context_window} />,
    right: true,
    minor: true,
  },
  {
    id: 'output',
    header: 'Maximum output',
    value: ({ max_output_tokens }) => max_output_tokens.value,
    cell: ({ max_output_tokens }) => <Limit of={max_output_tokens} />,
    right: true,
    minor: true,
  },
  {
    id: 'targets',
    header: 'Targets',
    value: ({ targets }) => [...new Set(targets.map(({ provider }) => provider))].join(', '),
    minor: true,
  },
  { id: 'defined', header: 'Defined by', value: definedByText, minor: true },
  {
    id: 'public',
    header: 'Listed without a key',
    value: ({ public: open }) => (open ? 'yes' : 'no'),
    minor: true,
    hidden: true,
  },
];

const PROVIDER_COLUMNS: readonly Column<Provider>[] = [
  { id: 'name', header: 'Provider', value: ({ name }) => name },
  { id: 'health', header: 'Health', value: ({ health }) => health, cell: ({ health }) => <Health of={health} /> },
  { id: 'rest', header: 'Why', value: restText, minor: true },
  {
    id: 'credentials',
    header: 'Credentials',
    value: ({ credentials }) => credentials,
    cell: ({ credentials, credentials_cooling: resting }) =>
      resting === 0 ? count(credentials) : `${count(credentials - resting)} of ${count(credentials)} in use`,
    right: true,
    minor: true,
  },
  { id: 'formats', header: 'Formats', value: ({ formats }) => formats.join(', '), minor: true },
  { id: 'base', header: 'Address', value: ({ base_url }) => base_url, minor: true },
  { id: 'defined', header: 'Defined by', value: definedByText, minor: true },
];

/** What is open above the page. */
type Opened =
  | { readonly dialog: 'add-model' | 'add-provider' }
  | { readonly dialog: 'change-provider' | 'remove-provider' | 'remove-model'; readonly name: string };

export function ModelsPage() {
  const models = useModels();
  const providers = useProviders();
  const definitions = useDefinitions();
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const { mayOperate, may } = useSession();
  const mayDefine = { model: may('post /admin/v1/models'), provider: may('post /admin/v1/providers') };
  const unused = definitions.data?.filter(({ state }) => state !== 'in_use') ?? [];
  const refresh = useMutation({
    mutationFn: () => call('post', '/admin/v1/model-lists', {}),
    onSuccess: ({ asked, failed }) => {
      const lists = `${plural(asked.length, 'provider')} gave a list of models`;
      toast(failed.length === 0 ? lists : `${lists}; ${failed.map(({ provider }) => provider).join(', ')} did not`);
    },
  });
  return (
    <Page
      title="Models"
      answer={<Answer models={models.data} providers={providers.data} />}
      actions={
        <>
          {mayOperate && (
            <Button variant="default" loading={refresh.isPending} onClick={() => refresh.mutate()}>
              Ask providers again
            </Button>
          )}
          {mayDefine.provider && (
            <Button variant="default" onClick={() => setOpened({ dialog: 'add-provider' })}>
              Add provider
            </Button>
          )}
          {mayDefine.model && <Button onClick={() => setOpened({ dialog: 'add-model' })}>Add model</Button>}
        </>
      }
    >
      <Failure error={models.error ?? providers.error ?? refresh.error} retry={() => void models.refetch()} />
      {models.isPending && <Loading />}
      {models.data?.length === 0 && (
        <Empty title="No models yet">
          Set the key of a provider in the environment (<code>OPENAI_API_KEY</code>, <code>ANTHROPIC_API_KEY</code>, …)
          and start again, name providers and models in <code>gateway.yaml</code>, or add them here.
        </Empty>
      )}
      {models.data && models.data.length > 0 && (
        <DataTable
          name="Models"
          rows={models.data}
          columns={MODEL_COLUMNS}
          rowId={({ id }) => id}
          href={({ id }) => modelHref(id)}
        />
      )}
      {providers.data && (
        <Section title="Providers">
          <DataTable
            name="Providers"
            rows={providers.data}
            columns={mayDefine.provider ? [...PROVIDER_COLUMNS, providerActions(setOpened)] : PROVIDER_COLUMNS}
            rowId={({ name }) => name}
          />
        </Section>
      )}
      {unused.length > 0 && (
        <Section title="Not in use" note="Added here, but the config file says something else, or they cannot be used.">
          <DataTable
            name="Not in use"
            rows={unused}
            columns={mayDefine.model ? [...UNUSED_COLUMNS, unusedActions(setOpened, mayDefine)] : UNUSED_COLUMNS}
            rowId={({ kind, name }) => `${kind} ${name}`}
          />
        </Section>
      )}
      {opened?.dialog === 'add-model' && <AddModel close={close} />}
      {opened?.dialog === 'add-provider' && <AddProvider close={close} />}
      {opened?.dialog === 'change-provider' && <ChangeProvider name={opened.name} close={close} />}
      {opened?.dialog === 'remove-provider' && <RemoveProvider name={opened.name} close={close} />}
      {opened?.dialog === 'remove-model' && <RemoveModel id={opened.name} close={close} then={() => {}} />}
    </Page>
  );
}

const UNUSED_COLUMNS: readonly Column<Definition>[] = [
  { id: 'name', header: 'Name', value: ({ name }) => name },
  { id: 'kind', header: 'Kind', value: ({ kind }) => kind, minor: true },
  {
    id: 'state',
    header: 'State',
    value: ({ state }) => state,
    cell: ({ state }) => <Dot tone="warn">{state}</Dot>,
  },
  { id: 'why', header: 'Why', value: ({ problem }) => problem },
];

/** Only what was added here can be changed here. */
function providerActions(open: (opened: Opened) => void): Column<Provider> {
  return {
    id: 'actions',
    header: 'Change',
    value: () => null,
    cell: ({ name, defined_by }) =>
      defined_by === 'api' ? (
        <Group gap="xs" wrap="nowrap">
          <RowButton verb="Change" name={name} act={() => open({ dialog: 'change-provider', name })} />
          <RowButton verb="Remove" name={name} act={() => open({ dialog: 'remove-provider', name })} />
        </Group>
      ) : (
        <span className="muted">{defined_by === 'file' ? 'in the config file' : '–'}</span>
      ),
  };
}

function unusedActions(
  open: (opened: Opened) => void,
  may: Readonly<Record<Definition['kind'], boolean>>,
): Column<Definition> {
  return {
    id: 'actions',
    header: 'Change',
    value: () => null,
    cell: ({ kind, name }) =>
      may[kind] && (
        <RowButton
          verb="Remove"
          name={name}
          act={() => open({ dialog: kind === 'model' ? 'remove-model' : 'remove-provider', name })}
        />
      ),
  };
}

function RowButton({ verb, name, act }: { verb: string; name: string; act: () => void }) {
  return (
    <Button variant="default" size="compact-xs" aria-label={`${verb} ${name}`} onClick={act}>
      {verb}
    </Button>
  );
}

function Answer({
  models,
  providers,
}: {
  models: readonly Model[] | undefined;
  providers: readonly Provider[] | undefined;
}) {
  if (models === undefined || providers === undefined) return null;
  const ill = providers.filter(({ health }) => health !== 'ok');
  return (
    <>
      <strong>{plural(models.length, 'model')}</strong> from {plural(providers.length, 'provider')};{' '}
      {ill.length === 0 ? (
        <Dot tone="ok">all of them answer</Dot>
      ) : (
        <Dot tone={ill.some(({ health }) => health === 'down') ? 'bad' : 'warn'}>
          {ill
            .map((provider) => `${provider.name} is ${provider.health} (${restText(provider) ?? 'it just was'})`)
            .join(', ')}
        </Dot>
      )}
    </>
  );
}
