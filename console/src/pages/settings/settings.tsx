/** Who may do what here, who did what, and whether every balance is the sum of its entries. */
import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { type Operator, type TrailEntry, useAuditTrail, useOperators } from '../../api/admin.ts';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { useSession } from '../../api/session.tsx';
import { Code } from '../../ui/code.tsx';
import { count, plural } from '../../ui/format.ts';
import { IconPlus } from '../../ui/icons.tsx';
import { Failure, Page, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge, Dot, Id, Time } from '../../ui/values.tsx';

export function SettingsPage() {
  const { session } = useSession();
  const role = session?.operator.role;
  return (
    <Page
      title="Settings"
      answer={
        <>
          You are <strong>{session?.operator.name}</strong>, with the role {role}.
        </>
      }
    >
      <Books />
      {role === 'owner' && <Operators />}
      {(role === 'owner' || role === 'operator') && <Trail />}
    </Page>
  );
}

/** Recomputed on request: it reads every entry of the ledger. */
function Books() {
  const audit = useMutation({ mutationFn: () => call('get', '/admin/v1/audit', {}) });
  const report = audit.data;
  return (
    <Section
      title="Audit"
      note="Every balance, computed again from its entries."
      actions={
        <Button variant="default" loading={audit.isPending} onClick={() => audit.mutate()}>
          Run the audit
        </Button>
      }
    >
      <Failure error={audit.error} />
      {report && (
        <Text size="sm">
          <Dot tone={report.ok ? 'ok' : 'bad'}>{report.ok ? 'The books add up' : 'The books do not add up'}</Dot>:{' '}
          {plural(report.keys, 'key')}, {count(report.entries)} entries, {plural(report.live_holds, 'live hold')},{' '}
          {plural(report.flagged, 'charge')} to look at.
        </Text>
      )}
      {report && report.findings.length > 0 && <Code label="Findings" text={report.findings.join('\n')} />}
    </Section>
  );
}

const OPERATOR_COLUMNS: readonly Column<Operator>[] = [
  {
    id: 'name',
    header: 'Name',
    value: (operator) => operator.name,
    cell: (operator) => (
      <>
        {operator.name} {operator.built_in && <Badge>built in</Badge>}
      </>
    ),
  },
  { id: 'role', header: 'Role', value: (operator) => operator.role },
  {
    id: 'status',
    header: 'Status',
    value: (operator) => operator.status,
    cell: ({ status }) => <Dot tone={status === 'active' ? 'ok' : 'bad'}>{status}</Dot>,
  },
  {
    id: 'created',
    header: 'Created',
    value: (operator) => operator.created_at,
    cell: (operator) => <Time at={operator.created_at} />,
    minor: true,
  },
  {
    id: 'id',
    header: 'Id',
    value: (operator) => operator.id,
    cell: (operator) => <Id value={operator.id} />,
    minor: true,
  },
];

function Operators() {
  const operators = useOperators(true);
  const [adding, setAdding] = useState(false);
  return (
    <Section
      title="Operators"
      note="Named people and programs, each with a role."
      actions={
        <Button leftSection={<IconPlus size={14} />} onClick={() => setAdding(true)}>
          Add an operator
        </Button>
      }
    >
      <Failure error={operators.error} />
      {operators.data && (
        <DataTable
          name="Operators"
          rows={operators.data}
          columns={OPERATOR_COLUMNS}
          rowId={(operator) => operator.id}
        />
      )}
      {adding && <AddOperator close={() => setAdding(false)} />}
    </Section>
  );
}

function AddOperator({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Schemas['NewOperator']['role']>('viewer');
  const add = useMutation({
    mutationFn: () => call('post', '/admin/v1/operators', { body: { name: name.trim(), role } }),
  });
  const field = add.error instanceof ApiError ? add.error.field : null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Modal
      opened
      onClose={close}
      title={add.data ? `The token of ${add.data.operator.name}` : 'Add an operator'}
      size={480}
      closeOnClickOutside={!add.data}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {add.data ? (
        <Stack gap="md">
          <Text size="sm">Give it to them now. It is shown this once, and signs in here and at the command line.</Text>
          <Code label="Operator token" text={add.data.token} />
          <Group justify="flex-end">
            <Button onClick={close}>I have copied it</Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={submit} noValidate>
          <Stack gap="md">
            <TextInput
              label="Name"
              data-autofocus
              value={name}
              error={field === 'name' ? add.error?.message : undefined}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Select
              label="Role"
              allowDeselect={false}
              value={role}
              onChange={(value) => setRole((value ?? 'viewer') as typeof role)}
              data={[
                { value: 'viewer', label: 'viewer: sees everything, changes nothing' },
                { value: 'operator', label: 'operator: keys, accounts and credit' },
                { value: 'owner', label: 'owner: also operators and settings' },
              ]}
            />
            {field !== 'name' && <Failure error={add.error} />}
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button type="submit" loading={add.isPending}>
                Add
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

const TRAIL_COLUMNS: readonly Column<TrailEntry>[] = [
  { id: 'at', header: 'When', value: (entry) => entry.at, cell: (entry) => <Time at={entry.at} /> },
  { id: 'actor', header: 'Who', value: (entry) => entry.actor?.name ?? 'nobody' },
  { id: 'action', header: 'What', value: (entry) => entry.action, cell: (entry) => <code>{entry.action}</code> },
  {
    id: 'target',
    header: 'On',
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
  },
  {
    id: 'change',
    header: 'Change',
    value: (entry) => changeText(entry),
    cell: (entry) => <span title={changeText(entry)}>{changeText(entry)}</span>,
    minor: true,
  },
  { id: 'via', header: 'Through', value: (entry) => entry.actor?.via ?? null, minor: true, hidden: true },
  { id: 'address', header: 'From', value: (entry) => entry.address, minor: true, hidden: true },
];

function changeText({ before, after, reason }: TrailEntry): string {
  if (reason !== null) return reason;
  if (after === null) return '';
  return before === null ? JSON.stringify(after) : `${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}

function Trail() {
  const trail = useAuditTrail(true);
  const rows = useMemo(() => trail.data?.pages.flatMap((page) => page.data) ?? [], [trail.data]);
  return (
    <Section title="Audit trail" note="Who did what, refused attempts too.">
      <Failure error={trail.error} />
      <DataTable
        name="Audit trail"
        rows={rows}
        columns={TRAIL_COLUMNS}
        rowId={(entry) => String(entry.number)}
        sortable={false}
        more={trail.hasNextPage && !trail.isFetchingNextPage ? () => void trail.fetchNextPage() : undefined}
      />
    </Section>
  );
}
