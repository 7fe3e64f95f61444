/** What was done to an object, by whom and why. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { call, type Schemas } from '../api/client.ts';
import { useSession } from '../api/session.tsx';
import { exactCredits, nanosOf } from './format.ts';
import { Failure, Section } from './page.tsx';
import { type Column, DataTable } from './table.tsx';
import { Time } from './values.tsx';

type HistoryEvent = Schemas['HistoryEvent'];

/** As a person says it; what is missing here stands as the audit trail names it. */
const WORDS: Readonly<Record<string, string>> = {
  'account.create': 'Created',
  'account.change': 'Changed',
  'account.move': 'Moved',
  'account.credit': 'Credit added',
  'account.key': 'Key added',
  'account.webhook': 'Webhook set',
  'account.webhook.remove': 'Webhook removed',
  'account.receiver.add': 'Receiver of alerts added',
  'account.receiver.remove': 'Receiver of alerts removed',
  'account.receiver.test': 'Test of a receiver sent',
  'credit.correct': 'Balance corrected',
  'key.create': 'Created',
  'key.import': 'Imported',
  'key.change': 'Changed',
  'key.revoke': 'Revoked',
  'key.credit': 'Credit added',
  'key.secret.add': 'Secret added',
  'key.secret.revoke': 'Secret revoked',
  'request.refund': 'Refunded',
  'request.stop': 'Stopped',
  'request.content': 'Content read',
};

const COLUMNS: readonly Column<HistoryEvent>[] = [
  { id: 'at', header: 'When', value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  { id: 'action', header: 'What', value: ({ action }) => WORDS[action] ?? action },
  {
    id: 'amount',
    header: 'Credits',
    value: ({ amount }) => amount,
    cell: ({ amount }) => amount !== null && <span className="num">{exactCredits(nanosOf(amount))}</span>,
    right: true,
  },
  {
    id: 'why',
    header: 'Reason and changes',
    value: detailText,
    cell: (event) => (
      <span title={detailText(event)}>
        {event.request_id !== null && (
          <>
            <Link href={`/requests/${event.request_id}`} className="link">
              a request
            </Link>{' '}
          </>
        )}
        {detailText(event)}
      </span>
    ),
  },
  { id: 'actor', header: 'Who', value: ({ actor }) => actor, minor: true },
];

function detailText({ reason, changes }: HistoryEvent): string {
  const changed = changes.map(({ field, from, to }) => `${field}: ${from ?? 'none'} → ${to ?? 'none'}`);
  return [...(reason === null ? [] : [reason]), ...changed].join('; ');
}

/** Of a key or an account. */
export function History({ of, id }: { of: 'keys' | 'accounts'; id: string }) {
  const { may } = useSession();
  const enabled = may(`get /admin/v1/${of}/{id}/history`);
  const { data, error, refetch } = useQuery({
    queryKey: ['history', of, id],
    queryFn: async ({ signal }) => (await call('get', `/admin/v1/${of}/{id}/history`, { path: { id }, signal })).data,
    enabled,
  });
  if (!enabled || data?.length === 0) return null;
  return (
    <Section title="History" note="What was done to it, and refunds.">
      <Failure error={error} retry={() => void refetch()} />
      {data !== undefined && <HistoryTable of={data} />}
    </Section>
  );
}

export function HistoryTable({ of: events }: { of: readonly HistoryEvent[] }) {
  return (
    <DataTable
      name="History"
      rows={events}
      columns={COLUMNS}
      rowId={({ at, action, request_id }) => `${at} ${action} ${request_id ?? ''}`}
      sortable={false}
    />
  );
}
