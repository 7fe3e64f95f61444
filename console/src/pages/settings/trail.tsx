/** Who did what, including refused attempts. */
import { useMemo } from 'react';
import { type TrailEntry, useAuditTrail } from '../../api/admin.ts';
import { nextPage } from '../../api/pages.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Dot, Id, Time } from '../../ui/values.tsx';

const TRAIL_COLUMNS: readonly Column<TrailEntry>[] = [
  { id: 'at', header: 'When', value: (entry) => entry.at, cell: (entry) => <Time at={entry.at} /> },
  { id: 'actor', header: 'Who', value: (entry) => entry.actor?.name ?? 'nobody' },
  { id: 'action', header: 'What', value: (entry) => entry.action, cell: (entry) => <code>{entry.action}</code> },
  {
    id: 'target',
    header: 'Target',
    value: (entry) => entry.target,
    cell: (entry) => entry.target !== null && <Id value={entry.target} />,
    minor: true,
  },
  {
    id: 'outcome',
    header: 'Outcome',
    value: (entry) => entry.outcome,
    cell: ({ outcome }) => (
      <Dot tone={outcome === 'done' ? 'ok' : outcome === 'refused' ? 'warn' : 'bad'}>{outcome}</Dot>
    ),
    minor: true,
  },
  {
    id: 'change',
    header: 'Change',
    value: (entry) => changeText(entry),
    cell: (entry) => <span title={changeText(entry)}>{changeText(entry)}</span>,
    minor: true,
  },
  { id: 'via', header: 'Signed in by', value: (entry) => entry.actor?.via ?? null, minor: true, hidden: true },
  { id: 'address', header: 'From', value: (entry) => entry.address, minor: true, hidden: true },
];

function changeText({ before, after, reason }: TrailEntry): string {
  if (reason !== null) return reason;
  if (after === null) return '';
  return before === null ? JSON.stringify(after) : `${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}

export function Trail() {
  const trail = useAuditTrail(true);
  const rows = useMemo(() => trail.data?.pages.flatMap((page) => page.data) ?? [], [trail.data]);
  return (
    <Section title="Audit trail" note="Who did what, including refused attempts.">
      <Failure error={trail.error} retry={() => void trail.refetch()} />
      <DataTable
        name="Audit trail"
        rows={rows}
        columns={TRAIL_COLUMNS}
        rowId={(entry) => String(entry.number)}
        sortable={false}
        more={nextPage(trail)}
      />
    </Section>
  );
}
