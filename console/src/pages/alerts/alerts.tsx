/** Alerts: what the gateway told its operators, and whether it arrived. */
import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { plural } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Dot, Id, Time, type Tone } from '../../ui/values.tsx';
import css from './alerts.module.css';

type Alert = Schemas['Alert'];
type Delivery = Schemas['AlertDelivery'];

const EVERY_MS = 15_000;
const LIMIT = 200;

const ALERT_COLUMNS: readonly Column<Alert>[] = [
  { id: 'at', header: 'When', value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { id: 'type', header: 'What', value: ({ type }) => type, cell: ({ type }) => <code>{type}</code> },
  {
    id: 'data',
    header: 'Subject',
    value: dataText,
    cell: (alert) => <span title={dataText(alert)}>{dataText(alert)}</span>,
  },
  { id: 'id', header: 'Id', value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, minor: true, hidden: true },
];

function dataText({ data }: Alert): string {
  return Object.entries(data)
    .map(([name, value]) => {
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
      return name === 'message' ? text : `${name.replaceAll('_', ' ')} ${text}`;
    })
    .join(', ');
}

function toneOf({ state }: Delivery): Tone {
  if (state === 'delivered') return 'ok';
  return state === 'dead' ? 'bad' : 'warn';
}

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { id: 'raised', header: 'Raised', value: (row) => row.raised_at, cell: (row) => <Time at={row.raised_at} /> },
  { id: 'type', header: 'What', value: (row) => row.type, cell: (row) => <code>{row.type}</code> },
  { id: 'target', header: 'To', value: (row) => row.target },
  { id: 'state', header: 'State', value: (row) => row.state, cell: (row) => <Dot tone={toneOf(row)}>{row.state}</Dot> },
  { id: 'attempts', header: 'Attempts', value: (row) => row.attempts, right: true, minor: true },
  {
    id: 'next',
    header: 'Next attempt',
    value: (row) => row.next_attempt_at,
    cell: (row) => <Time at={row.next_attempt_at} />,
    minor: true,
  },
  { id: 'error', header: 'Why it failed', value: (row) => row.error, minor: true },
];

export function AlertsPage() {
  const { mayOperate } = useSession();
  const alerts = useQuery({
    queryKey: ['alerts'],
    queryFn: ({ signal }) => call('get', '/admin/v1/alerts', { query: { limit: LIMIT }, signal }),
    refetchInterval: EVERY_MS,
  });
  const deliveries = useQuery({
    queryKey: ['alerts', 'deliveries'],
    queryFn: async ({ signal }) =>
      (await call('get', '/admin/v1/alerts/deliveries', { query: { limit: LIMIT }, signal })).data,
    refetchInterval: EVERY_MS,
  });
  const test = useMutation({ mutationFn: () => call('post', '/admin/v1/alerts/test', {}) });
  const dead = deliveries.data?.filter(({ state }) => state === 'dead').length ?? 0;
  return (
    <Page
      title="Alerts"
      answer={
        alerts.data && (
          <>
            <strong>{plural(alerts.data.data.length, 'alert')}</strong>;{' '}
            {dead === 0 ? 'none was given up' : `${plural(dead, 'delivery', 'deliveries')} given up`}.
          </>
        )
      }
      actions={
        mayOperate &&
        alerts.data?.enabled === true && (
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send a test
          </Button>
        )
      }
    >
      <Failure error={alerts.error ?? deliveries.error ?? test.error} />
      {test.data && <Tested result={test.data} />}
      {alerts.isPending && <Loading />}
      {alerts.data?.data.length === 0 && (
        <Empty title={alerts.data.enabled ? 'No alerts yet' : 'No receivers yet'}>
          Low balances, caps that are nearly used up, providers that fail: add a section <code>alerts</code> to{' '}
          <code>gateway.yaml</code> with a webhook or a command, and it is notified of these.
        </Empty>
      )}
      {alerts.data && alerts.data.data.length > 0 && (
        <DataTable name="Alerts" rows={alerts.data.data} columns={ALERT_COLUMNS} rowId={({ id }) => id} />
      )}
      {deliveries.data && deliveries.data.length > 0 && (
        <Section title="Deliveries">
          <DataTable
            name="Deliveries"
            rows={deliveries.data}
            columns={DELIVERY_COLUMNS}
            rowId={({ alert_id, target }) => `${alert_id} ${target}`}
          />
        </Section>
      )}
    </Page>
  );
}

function Tested({ result }: { result: Schemas['AlertTest'] }) {
  if (result.deliveries.length === 0) {
    return <p role="status">The configuration names no webhook and no command, so no test was sent.</p>;
  }
  return (
    <div role="status" className={css.tested}>
      <ul>
        {result.deliveries.map((delivery) => (
          <li key={delivery.target}>
            <Dot tone={toneOf(delivery)}>
              {delivery.target}: {delivery.state}
              {delivery.error !== null && ` (${delivery.error})`}
            </Dot>
          </li>
        ))}
      </ul>
    </div>
  );
}
