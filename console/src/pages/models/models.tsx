/** Models and providers: what is offered at which price, and how those do that serve it. */
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from 'wouter';
import { call } from '../../api/client.ts';
import { type Model, type Provider, useModels, useProviders } from '../../api/models.ts';
import { useSession } from '../../api/session.tsx';
import { count, plural } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { Dot } from '../../ui/values.tsx';
import { Health, Limit, marginText, priceText, restText } from './model-format.tsx';
import { modelHref } from './model-href.ts';

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
];

export function ModelsPage() {
  const models = useModels();
  const providers = useProviders();
  const { mayOperate } = useSession();
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
        mayOperate && (
          <Button variant="default" loading={refresh.isPending} onClick={() => refresh.mutate()}>
            Ask providers again
          </Button>
        )
      }
    >
      <Failure error={models.error ?? providers.error ?? refresh.error} retry={() => void models.refetch()} />
      {models.isPending && <Loading />}
      {models.data?.length === 0 && (
        <Empty title="No models yet">
          Set the key of a provider in the environment (<code>OPENAI_API_KEY</code>, <code>ANTHROPIC_API_KEY</code>, …)
          and start again, or name providers and models in <code>gateway.yaml</code>.
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
          <DataTable name="Providers" rows={providers.data} columns={PROVIDER_COLUMNS} rowId={({ name }) => name} />
        </Section>
      )}
    </Page>
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
