/** Every setting as it is used now, from the environment and the config file. A secret is only ever “set”. */
import { useMemo } from 'react';
import { useSettings } from '../../api/admin.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge } from '../../ui/values.tsx';

interface Setting {
  readonly name: string;
  readonly value: string;
  readonly from: 'environment' | 'config file';
}

const COLUMNS: readonly Column<Setting>[] = [
  { id: 'name', header: 'Setting', value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  {
    id: 'value',
    header: 'Value',
    value: ({ value }) => value,
    cell: ({ value }) => <span title={value}>{value}</span>,
  },
  {
    id: 'from',
    header: 'Source',
    value: ({ from }) => from,
    cell: ({ from }) => <Badge>{from}</Badge>,
    minor: true,
  },
];

/** One line per value: `limits.body_bytes`. */
function lines(prefix: string, value: unknown, from: Setting['from']): Setting[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, part]) =>
      lines(prefix === '' ? name : `${prefix}.${name}`, part, from),
    );
  }
  return [{ name: prefix, value: text(value), from }];
}

function text(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ');
  return String(value);
}

export function InForce() {
  const { data, error } = useSettings();
  const rows = useMemo(
    () => (data ? [...lines('', data.process, 'environment'), ...lines('', data.config, 'config file')] : []),
    [data],
  );
  return (
    <Section title="Settings in force" note="Without secrets.">
      <Failure error={error} />
      {rows.length > 0 && (
        <DataTable
          name="Settings in force"
          rows={rows}
          columns={COLUMNS}
          rowId={({ name, from }) => `${from} ${name}`}
        />
      )}
    </Section>
  );
}
