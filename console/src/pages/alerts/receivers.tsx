/** Receivers of alerts, the operator's and those of accounts, with what became of what they were sent last. */
import { Button } from '@mantine/core';
import type { Schemas } from '../../api/client.ts';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Dot, Time, type Tone } from '../../ui/values.tsx';
import css from './alerts.module.css';

export type Receiver = Schemas['AlertReceiver'];

/** What can be done with one. */
export interface ReceiverAction {
  readonly label: string;
  readonly dangerous?: boolean;
  readonly busy?: (receiver: Receiver) => boolean;
  readonly act: (receiver: Receiver) => void;
}

const KINDS: Readonly<Record<Receiver['kind'], string>> = {
  webhook: 'Webhook',
  slack: 'Slack',
  email: 'E-mail',
  command: 'Command',
};

const COLUMNS: readonly Column<Receiver>[] = [
  { id: 'kind', header: 'Kind', value: ({ kind }) => KINDS[kind] },
  {
    id: 'address',
    header: 'Address',
    value: ({ address }) => address,
    cell: ({ address }) => address !== null && <code title={address}>{address}</code>,
  },
  { id: 'types', header: 'Gets', value: ({ types }) => types?.join(', ') ?? 'all', minor: true },
  {
    id: 'state',
    header: 'Last result',
    value: (row) => stateOf(row).word,
    cell: (row) => <Dot tone={stateOf(row).tone}>{stateOf(row).word}</Dot>,
  },
  {
    id: 'delivered',
    header: 'Last delivery',
    value: (row) => row.last_delivered_at,
    cell: (row) => <Time at={row.last_delivered_at} />,
    minor: true,
  },
  {
    id: 'failed',
    header: 'Last failure',
    value: (row) => row.last_failed_at,
    cell: (row) => <Time at={row.last_failed_at} />,
    minor: true,
  },
  {
    id: 'error',
    header: 'Why it failed',
    value: (row) => row.last_error,
    cell: (row) => row.last_error !== null && <span title={row.last_error}>{row.last_error}</span>,
    minor: true,
  },
  { id: 'waiting', header: 'Waiting', value: (row) => row.waiting, right: true, minor: true },
];

function stateOf({ last_delivered_at: delivered, last_failed_at: failed }: Receiver): { tone: Tone; word: string } {
  if (delivered === null && failed === null) return { tone: 'neutral', word: 'nothing sent yet' };
  // Texts of times in the same form compare as the times do.
  return failed === null || (delivered !== null && delivered >= failed)
    ? { tone: 'ok', word: 'delivered' }
    : { tone: 'bad', word: 'failed' };
}

/** `first`: what the receivers are told apart by. */
export function ReceiverTable({
  name,
  receivers,
  first = [],
  actions,
}: {
  name: string;
  receivers: readonly Receiver[];
  first?: readonly Column<Receiver>[];
  actions: readonly ReceiverAction[];
}) {
  return (
    <DataTable
      name={name}
      rows={receivers}
      columns={[...first, ...COLUMNS, ...(actions.length > 0 ? [actionColumn(actions)] : [])]}
      rowId={({ target }) => target}
    />
  );
}

function actionColumn(actions: readonly ReceiverAction[]): Column<Receiver> {
  return {
    id: 'actions',
    header: 'Actions',
    value: () => null,
    cell: (receiver) =>
      actions.map(({ label, dangerous, busy, act }) => (
        <Button
          key={label}
          variant="subtle"
          size="compact-xs"
          {...(dangerous && { color: 'red' })}
          loading={busy?.(receiver) === true}
          aria-label={`${label}: ${receiver.target}`}
          onClick={() => act(receiver)}
        >
          {label}
        </Button>
      )),
    right: true,
  };
}

export function deliveryTone({ state }: Schemas['AlertDelivery']): Tone {
  if (state === 'delivered') return 'ok';
  return state === 'dead' ? 'bad' : 'warn';
}

/** What came of a test. */
export function Tested({ result }: { result: Schemas['AlertTest'] }) {
  if (result.deliveries.length === 0) {
    return <p role="status">The configuration names no receiver of tests, so none was sent.</p>;
  }
  return (
    <div role="status" className={css.tested}>
      <ul>
        {result.deliveries.map((delivery) => (
          <li key={delivery.target}>
            <Dot tone={deliveryTone(delivery)}>
              {delivery.target}: {delivery.state}
              {delivery.error !== null && ` (${delivery.error})`}
            </Dot>
          </li>
        ))}
      </ul>
    </div>
  );
}
