/** Alerts: who is told, what the gateway told them, and whether it arrived. */
import { Button } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { plural } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Empty, Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Dot, Id, Time } from '../../ui/values.tsx';
import { AccountLink } from '../accounts/account-link.tsx';
import { Configured } from './configured.tsx';
import { deliveryTone, type Receiver, type ReceiverAction, ReceiverTable, Tested } from './receivers.tsx';

type Alert = Schemas['Alert'];
type Delivery = Schemas['AlertDelivery'];

const EVERY_MS = 15_000;
const LIMIT = 200;
const ACCOUNTS_LIMIT = 500;
const MORE = `Those of the first ${ACCOUNTS_LIMIT} accounts; gateway alerts receivers lists all.`;

const ALERT_COLUMNS: readonly Column<Alert>[] = [
  { id: 'at', header: 'When', value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { id: 'type', header: 'Type', value: ({ type }) => type, cell: ({ type }) => <code>{type}</code> },
  {
    id: 'text',
    header: 'What happened',
    value: ({ text }) => text,
    cell: ({ text }) => <span title={text}>{text}</span>,
  },
  { id: 'id', header: 'Id', value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, minor: true, hidden: true },
];

const WHOSE: Column<Receiver> = {
  id: 'whose',
  header: 'Receiver',
  value: ({ name, account_name, account }) => name ?? account_name ?? account ?? 'command',
  cell: ({ name, account }) => (account === null ? (name ?? 'command') : <AccountLink id={account} />),
};

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { id: 'raised', header: 'Raised', value: (row) => row.raised_at, cell: (row) => <Time at={row.raised_at} /> },
  { id: 'type', header: 'What', value: (row) => row.type, cell: (row) => <code>{row.type}</code> },
  { id: 'target', header: 'To', value: (row) => row.target },
  {
    id: 'state',
    header: 'State',
    value: (row) => row.state,
    cell: (row) => <Dot tone={deliveryTone(row)}>{row.state}</Dot>,
  },
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
  const receivers = useQuery({
    queryKey: ['alerts', 'receivers'],
    queryFn: ({ signal }) => call('get', '/admin/v1/alerts/receivers', { query: { limit: ACCOUNTS_LIMIT }, signal }),
    refetchInterval: EVERY_MS,
  });
  const test = useMutation({
    mutationFn: (receiver: string | null) =>
      call('post', '/admin/v1/alerts/test', { query: receiver === null ? {} : { receiver } }),
  });
  const testOne: ReceiverAction = {
    label: 'Send a test',
    busy: ({ target }) => test.isPending && test.variables === target,
    act: ({ target }) => test.mutate(target),
  };
  const enabled = alerts.data?.enabled === true;
  const dead = deliveries.data?.filter(({ state }) => state === 'dead').length ?? 0;
  return (
    <Page
      title="Alerts"
      answer={
        alerts.data && (
          <>
            <strong>{plural(alerts.data.data.length, 'alert')}</strong>;{' '}
            {dead === 0 ? 'none was given up' : `${plural(dead, 'delivery', 'deliveries')} given up`}.
            {receivers.data?.data.length === 0 && ' Nobody is told of them.'}
          </>
        )
      }
      actions={
        mayOperate &&
        enabled && (
          <Button
            variant="default"
            loading={test.isPending && test.variables === null}
            onClick={() => test.mutate(null)}
          >
            Test all of the config file
          </Button>
        )
      }
    >
      <Failure error={alerts.error ?? receivers.error ?? deliveries.error ?? test.error} />
      {test.data && <Tested result={test.data} />}
      {receivers.data && (
        <>
          <Section title="Receivers" note={receivers.data.next_cursor === null ? undefined : MORE}>
            {receivers.data.data.length === 0 ? (
              <p className="muted">
                Nobody is told of alerts: name a receiver in the config file, or on an account's page.
              </p>
            ) : (
              <ReceiverTable
                name="Receivers"
                receivers={receivers.data.data}
                first={[WHOSE]}
                actions={mayOperate && enabled ? [testOne] : []}
              />
            )}
          </Section>
          <Configured receivers={receivers.data} />
        </>
      )}
      {alerts.isPending && <Loading />}
      {alerts.data?.data.length === 0 && (
        <Empty title="No alerts yet">
          Low balances, caps that are nearly used up, providers that fail:{' '}
          {enabled ? 'they are listed here.' : 'with a section alerts in the config file they are listed here.'}
        </Empty>
      )}
      {alerts.data && alerts.data.data.length > 0 && (
        <Section title="What happened">
          <DataTable name="Alerts" rows={alerts.data.data} columns={ALERT_COLUMNS} rowId={({ id }) => id} />
        </Section>
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
