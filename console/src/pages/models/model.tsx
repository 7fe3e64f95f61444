/** One model: what it costs, how large it is, who serves it and how they do. */
import { Button, Group, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call } from '../../api/client.ts';
import { type Model, type Target, useModels, useProviders } from '../../api/models.ts';
import { useSession } from '../../api/session.tsx';
import { count, milliseconds } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Facts, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge, Dot } from '../../ui/values.tsx';
import { ChangeModel, RemoveModel } from './model-dialog.tsx';
import { definedByText, marginText, priceText, sourceText, usd } from './model-format.tsx';
import { CancelPrice, labelOf, SetPrice } from './price-dialog.tsx';

const BACK = { href: '/models', label: 'Models' };

interface ServedBy {
  readonly target: Model['targets'][number];
  readonly state: Target | undefined;
}

export function ModelPage({ id }: { id: string }) {
  const models = useModels();
  const providers = useProviders();
  const { mayOperate, may } = useSession();
  const [, go] = useLocation();
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const model = models.data?.find((candidate) => candidate.id === id);
  if (model === undefined) {
    return (
      <Page title={id} back={BACK}>
        {models.isPending && <Loading />}
        <Failure error={models.error} retry={() => void models.refetch()} />
        {models.data && <Empty title="Model not found">It may have been removed from the configuration.</Empty>}
      </Page>
    );
  }
  const rows = model.targets.map((target): ServedBy => {
    const provider = providers.data?.find(({ name }) => name === target.provider);
    return { target, state: provider?.targets.find(({ upstream_model }) => upstream_model === target.upstream_model) };
  });
  const mayChange = model.defined_by === 'api' && model.alias_of === null && may('patch /admin/v1/models/{id}');
  const can = Object.entries(model.capabilities).filter(([, has]) => has);
  return (
    <Page
      title={model.display_name ?? model.id}
      back={BACK}
      answer={
        <>
          <strong>{priceText(model)} USD</strong> per million tokens in and out
          {model.markup !== null && model.markup > 1 && <>, of which {marginText(model)} is yours</>}.
        </>
      }
      actions={
        <>
          <Button component={Link} href={`/requests?model=${encodeURIComponent(model.id)}`} variant="default">
            Requests
          </Button>
          {mayOperate && (
            <Button component={Link} href={`/playground?model=${encodeURIComponent(model.id)}`} variant="default">
              Try it
            </Button>
          )}
          {mayChange && (
            <>
              <Button variant="default" onClick={() => setOpened({ dialog: 'remove' })}>
                Remove
              </Button>
              <Button variant="default" onClick={() => setOpened({ dialog: 'change' })}>
                Change
              </Button>
              <Button onClick={() => setOpened({ dialog: 'price' })}>Set price</Button>
            </>
          )}
        </>
      }
    >
      <Facts
        items={[
          ['Id', <code key="id">{model.id}</code>],
          ['Context window', limitText(model.context_window)],
          ['Maximum output', limitText(model.max_output_tokens)],
          ['Scope', model.provider],
          ['Defined by', definedByText(model)],
          ['Listed without a key', model.public ? 'yes' : 'no'],
          ['Can do', can.map(([name]) => name.replaceAll('_', ' ')).join(', ')],
        ]}
      />
      <Section title="Targets" note="In the order in which they are tried.">
        <DataTable
          name="Targets"
          rows={rows}
          columns={mayOperate ? [...COLUMNS, testColumn(model.id)] : COLUMNS}
          rowId={({ target }) => `${target.provider} ${target.upstream_model} ${target.format}`}
          sortable={false}
        />
      </Section>
      <Section title="Price" note={`USD per million tokens, as charged. From ${sourceText(model.price)}.`}>
        <Facts items={Object.entries(model.price.value).map(([name, value]) => [labelOf(name), usd(value)])} />
      </Section>
      {model.price_changes.length > 0 && (
        <Section title="Prices to come" note="A request has the price of the moment at which it arrives.">
          <DataTable
            name="Prices to come"
            rows={model.price_changes}
            columns={mayChange ? [...CHANGE_COLUMNS, cancelColumn(setOpened)] : CHANGE_COLUMNS}
            rowId={({ from }) => from}
            sortable={false}
          />
        </Section>
      )}
      {opened?.dialog === 'price' && <SetPrice of={model} close={close} />}
      {opened?.dialog === 'change' && <ChangeModel id={model.id} close={close} />}
      {opened?.dialog === 'remove' && <RemoveModel id={model.id} close={close} then={() => go(BACK.href)} />}
      {opened?.dialog === 'cancel' && <CancelPrice id={model.id} from={opened.from} close={close} />}
    </Page>
  );
}

type Opened = { readonly dialog: 'price' | 'change' | 'remove' } | { readonly dialog: 'cancel'; readonly from: string };

type PriceChange = Model['price_changes'][number];

const CHANGE_COLUMNS: readonly Column<PriceChange>[] = [
  { id: 'from', header: 'From', value: ({ from }) => from, cell: ({ from }) => fromText(from) },
  {
    id: 'price',
    header: 'USD per million, in / out',
    value: ({ value }) => value.input ?? 0,
    cell: (change) => priceText({ price: change }),
    right: true,
  },
  { id: 'margin', header: 'Margin', value: ({ markup }) => markup, cell: marginText, right: true, minor: true },
];

/** In UTC, as prices are set. */
function fromText(from: string): string {
  return from.replace('T', ' ').replace(/(:00)?\.000Z$/, ' UTC');
}

function cancelColumn(open: (opened: Opened) => void): Column<PriceChange> {
  return {
    id: 'cancel',
    header: 'Cancel',
    value: () => null,
    cell: ({ from }) => (
      <Button
        variant="default"
        size="compact-xs"
        aria-label={`Cancel the price from ${fromText(from)}`}
        onClick={() => open({ dialog: 'cancel', from })}
      >
        Cancel
      </Button>
    ),
  };
}

function limitText(limit: Model['context_window']): string {
  return limit.value === null ? 'unknown' : `${count(limit.value)} tokens (${sourceText(limit)})`;
}

const COLUMNS: readonly Column<ServedBy>[] = [
  { id: 'provider', header: 'Provider', value: ({ target }) => target.provider },
  { id: 'model', header: 'Upstream model', value: ({ target }) => target.upstream_model },
  {
    id: 'format',
    header: 'Format',
    value: ({ target }) => target.format,
    cell: ({ target }) => <Badge>{target.format}</Badge>,
    minor: true,
  },
  {
    id: 'circuit',
    header: 'Circuit',
    value: ({ state }) => state?.circuit ?? null,
    cell: ({ state }) => state && <Circuit of={state} />,
  },
  {
    id: 'streamed',
    header: 'First byte, streamed',
    value: ({ state }) => state?.first_byte_ms.streamed ?? null,
    cell: ({ state }) => timeText(state?.first_byte_ms.streamed),
    right: true,
    minor: true,
  },
  {
    id: 'whole',
    header: 'First byte, whole',
    value: ({ state }) => state?.first_byte_ms.whole ?? null,
    cell: ({ state }) => timeText(state?.first_byte_ms.whole),
    right: true,
    minor: true,
  },
  { id: 'weight', header: 'Weight', value: ({ target }) => target.weight, right: true, minor: true, hidden: true },
];

function timeText(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? '–' : milliseconds(ms);
}

function Circuit({
  of: { circuit, next_probe_in_ms: probe, cooling_ms: cooling, keys_with_open_circuit: keys },
}: {
  of: Target;
}) {
  if (circuit === 'open') return <Dot tone="bad">open, tried again in {milliseconds(probe)}</Dot>;
  if (circuit === 'due') return <Dot tone="warn">open; the next call is a probe</Dot>;
  if (cooling > 0) return <Dot tone="warn">cools down for {milliseconds(cooling)}</Dot>;
  if (keys > 0) return <Dot tone="warn">open for {count(keys)} keys alone</Dot>;
  return <Dot tone="ok">closed</Dot>;
}

function testColumn(model: string): Column<ServedBy> {
  return {
    id: 'test',
    header: 'Test',
    value: () => null,
    cell: ({ target }) => <TestTarget model={model} target={target} />,
  };
}

function TestTarget({ model, target }: { model: string; target: Model['targets'][number] }) {
  const { provider, upstream_model, format } = target;
  const test = useMutation({
    mutationFn: () => call('post', '/admin/v1/targets/test', { body: { model, provider, upstream_model, format } }),
  });
  return (
    <Group gap="xs" wrap="nowrap">
      <Tooltip label="Generates a token there, which costs a little">
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Test ${upstream_model} at ${provider} with the format ${format}`}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          Test
        </Button>
      </Tooltip>
      {test.data && (
        <span role="status" title={test.data.detail}>
          <Dot tone={test.data.state === 'ok' ? 'ok' : 'bad'}>
            {test.data.detail}
            {test.data.took_ms !== null && `, ${milliseconds(test.data.took_ms)}`}
          </Dot>
        </span>
      )}
      {test.error && <span role="alert">{test.error.message}</span>}
    </Group>
  );
}
