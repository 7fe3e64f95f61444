/** The statement of the key: asked for by a button, because every look counts in the key's rate limit. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { addressOf } from '../api/client.ts';
import { count, exactCredits, plural } from '../ui/format.ts';
import { Loading } from '../ui/loading.tsx';
import { Facts, Failure } from '../ui/page.tsx';
import { StatementSection } from '../ui/statement.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Credits } from '../ui/values.tsx';
import { type KeyholderStatement, STATEMENT, statementOf } from './api.ts';

type Entry = KeyholderStatement['entries'][number];
type Used = KeyholderStatement['usage'][number];

const KINDS: Readonly<Record<string, string>> = {
  purchase: 'Purchase',
  promotion: 'Promotional credit',
  refund: 'Refund',
  correction: 'Correction',
  expired: 'Expired',
  transfer_out: 'Moved to its account',
  transfer_in: 'Transfer',
};

export function KeyStatement() {
  const [shown, setShown] = useState<string | null>(null);
  const { data, error, isFetching } = useQuery({
    queryKey: ['statement', shown],
    queryFn: () => statementOf(shown ?? ''),
    enabled: shown !== null,
    staleTime: 60_000,
  });
  return (
    <StatementSection
      href={(month, format) => addressOf(STATEMENT, {}, { month, format })}
      show={(month) => (
        <Button variant="default" loading={isFetching} onClick={() => setShown(month)}>
          Show
        </Button>
      )}
    >
      <Failure error={error} />
      {shown !== null && data === undefined && error === null && <Loading rows={4} />}
      {data && <Shown statement={data} />}
    </StatementSection>
  );
}

function Shown({ statement }: { statement: KeyholderStatement }) {
  const { entries, usage, by_account: paid } = statement;
  const lastDay = new Date(Date.parse(statement.to) - 1).toISOString().slice(0, 10);
  return (
    <>
      <Facts
        items={[
          ['Period (UTC)', `${statement.from} to ${lastDay}${statement.closed ? '' : ', not over yet'}`],
          ['Opening balance', credits(BigInt(statement.opening))],
          ['Entries', credits(sum(entries))],
          ['Usage', credits(-sum(usage))],
          ['Closing balance', <strong key="closing">{credits(BigInt(statement.closing))}</strong>],
        ]}
      />
      {entries.length > 0 && (
        <DataTable name="Entries" rows={entries} columns={ENTRY_COLUMNS} rowId={({ kind, id }) => `${kind} ${id}`} />
      )}
      {usage.length > 0 && (
        <DataTable name="Usage of the month" rows={usage} columns={USED_COLUMNS} rowId={({ model }) => String(model)} />
      )}
      {entries.length === 0 && usage.length === 0 && (
        <p className="muted">Nothing was booked or used on the balance of this key in this period.</p>
      )}
      {paid && (
        <>
          <p className="muted">
            {paid.length === 0
              ? 'This key belongs to an account, which paid nothing for it in this period.'
              : `This key belongs to an account, which paid ${credits(sum(paid))} for ${plural(callsOf(paid), 'call')} of it:`}
          </p>
          {paid.length > 0 && (
            <DataTable
              name="Paid by its account"
              rows={paid}
              columns={USED_COLUMNS}
              rowId={({ model }) => String(model)}
            />
          )}
        </>
      )}
    </>
  );
}

function credits(nanos: bigint): string {
  return `${exactCredits(nanos)} credits`;
}

function sum(rows: readonly { readonly amount: string }[]): bigint {
  return rows.reduce((total, { amount }) => total + BigInt(amount), 0n);
}

function callsOf(rows: readonly Used[]): number {
  return rows.reduce((total, { charges }) => total + charges, 0);
}

const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  { id: 'at', header: 'Day (UTC)', value: ({ at }) => at.slice(0, 10) },
  { id: 'kind', header: 'What', value: ({ kind }) => KINDS[kind] ?? kind },
  {
    id: 'amount',
    header: 'Amount, credits',
    value: ({ amount }) => BigInt(amount),
    cell: ({ amount }) => <Credits value={BigInt(amount)} exact />,
    right: true,
  },
  {
    id: 'reason',
    header: 'Reason',
    value: ({ reason, request_id }) => [reason, request_id].filter((part) => part !== null).join(', ') || null,
    minor: true,
  },
];

const USED_COLUMNS: readonly Column<Used>[] = [
  { id: 'model', header: 'Model', value: ({ model }) => model },
  { id: 'calls', header: 'Calls', value: ({ charges }) => charges, cell: (row) => count(row.charges), right: true },
  {
    id: 'amount',
    header: 'Charged, credits',
    value: ({ amount }) => BigInt(amount),
    cell: ({ amount }) => <Credits value={BigInt(amount)} exact />,
    right: true,
  },
];
