/** Named people and programs with their roles; for owners. */
import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Operator, useOperators } from '../../api/admin.ts';
import { ApiError, call, type Schemas } from '../../api/client.ts';
import { Code } from '../../ui/code.tsx';
import { IconPlus } from '../../ui/icons.tsx';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge, Dot, Id, Time } from '../../ui/values.tsx';

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

export function Operators() {
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
          <Text size="sm">Give it to them now. It is shown only once, and signs in here and on the command line.</Text>
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
