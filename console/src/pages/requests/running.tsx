/** The requests that run now, each of which can be stopped. */
import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { call, type Schemas } from '../../api/client.ts';
import { useRunning } from '../../api/requests.ts';
import { useSession } from '../../api/session.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { bytes, exactCredits, milliseconds, plural } from '../../ui/format.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Id } from '../../ui/values.tsx';

type Request = Schemas['RunningRequest'];

const COLUMNS: readonly Column<Request>[] = [
  { id: 'age', header: 'Runs for', value: ({ age_ms }) => age_ms, cell: ({ age_ms }) => milliseconds(age_ms) },
  { id: 'model', header: 'Model', value: ({ model }) => model },
  {
    id: 'key',
    header: 'Key',
    value: ({ key_label, key_id }) => key_label ?? key_id,
    cell: ({ key_label, key_id }) => <Link href={`/keys/${key_id}`}>{key_label ?? key_id}</Link>,
    minor: true,
  },
  { id: 'provider', header: 'Provider', value: ({ provider }) => provider || null, minor: true },
  {
    id: 'held',
    header: 'Held',
    value: ({ held }) => held,
    cell: ({ mode, held }) =>
      mode === 'credit' ? `${exactCredits(BigInt(held))} credits` : plural(BigInt(held), 'token'),
    right: true,
    minor: true,
  },
  {
    id: 'sent',
    header: 'Sent',
    value: ({ output_bytes }) => output_bytes,
    cell: ({ output_bytes }) => bytes(output_bytes),
    right: true,
    minor: true,
  },
  {
    id: 'id',
    header: 'Id',
    value: ({ id }) => id,
    cell: ({ id }) => <Id value={id} shown={`…${id.slice(-8)}`} />,
    minor: true,
  },
];

/** Nothing where none runs. */
export function Running() {
  const { data: running = [], error } = useRunning();
  const { may } = useSession();
  const [asked, setAsked] = useState<Request | null>(null);
  const mayStop = may('delete /admin/v1/requests/running/{id}');
  const columns = useMemo(() => (mayStop ? [...COLUMNS, stopColumn(setAsked)] : COLUMNS), [mayStop]);
  if (running.length === 0 && asked === null) return <Failure error={error} />;
  return (
    <Section title="Running now" note={plural(running.length, 'request')}>
      <DataTable name="Running now" rows={running} columns={columns} rowId={({ id }) => id} />
      {asked !== null && (
        <Confirm
          title="Stop this request?"
          verb="Stop it"
          dangerous
          act={() => call('delete', '/admin/v1/requests/running/{id}', { path: { id: asked.id } })}
          done={() => 'The request is stopped'}
          close={() => setAsked(null)}
        >
          Its client gets an error, and what was produced is charged.
        </Confirm>
      )}
    </Section>
  );
}

function stopColumn(ask: (request: Request) => void): Column<Request> {
  return {
    id: 'stop',
    header: 'Actions',
    value: () => null,
    cell: (request) => (
      <Button variant="subtle" color="red" size="compact-xs" onClick={() => ask(request)}>
        Stop
      </Button>
    ),
    right: true,
  };
}
