/** Named people and programs with their roles; for owners. */
import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type Operator, useOperators } from '../../api/admin.ts';
import { IconPlus } from '../../ui/icons.tsx';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge, Dot, Id, Time } from '../../ui/values.tsx';
import { AccountLink } from '../accounts/account-link.tsx';
import { AddOperator, ManageOperator } from './operator-dialogs.tsx';

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
    id: 'account',
    header: 'Account',
    value: (operator) => operator.account_id,
    cell: ({ account_id }) => account_id !== null && <AccountLink id={account_id} />,
    minor: true,
  },
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

function manageColumn(manage: (operator: Operator) => void): Column<Operator> {
  return {
    id: 'manage',
    header: 'Actions',
    value: () => null,
    cell: (operator) =>
      operator.status === 'active' && (
        <Button
          variant="subtle"
          size="compact-xs"
          aria-label={`Manage ${operator.name}`}
          onClick={() => manage(operator)}
        >
          Manage
        </Button>
      ),
    right: true,
  };
}

export function Operators() {
  const operators = useOperators(true);
  const [adding, setAdding] = useState(false);
  const [managed, setManaged] = useState<Operator | null>(null);
  const columns = useMemo(() => [...OPERATOR_COLUMNS, manageColumn(setManaged)], []);
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
        <DataTable name="Operators" rows={operators.data} columns={columns} rowId={(operator) => operator.id} />
      )}
      {adding && <AddOperator close={() => setAdding(false)} />}
      {managed !== null && <ManageOperator id={managed.id} close={() => setManaged(null)} />}
    </Section>
  );
}
