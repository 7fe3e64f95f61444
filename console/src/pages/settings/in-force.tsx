/** Every setting as it is used now, from the environment and the config file. A secret is only ever “set”. */
import { useSettings } from '../../api/admin.ts';
import type { Schemas } from '../../api/client.ts';
import { Failure, Section } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Badge } from '../../ui/values.tsx';

type Setting = Schemas['SettingInForce'];

const SOURCES: Readonly<Record<Setting['from'], string>> = {
  file: 'config file',
  environment: 'environment',
  command_line: 'command line',
  default: 'default',
};

const COLUMNS: readonly Column<Setting>[] = [
  { id: 'name', header: 'Setting', value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  {
    id: 'value',
    header: 'Value',
    value: ({ value }) => text(value),
    cell: ({ value }) => <span title={text(value)}>{text(value)}</span>,
  },
  {
    id: 'from',
    header: 'Source',
    value: ({ from }) => SOURCES[from],
    cell: ({ from }) => <Badge>{SOURCES[from]}</Badge>,
    minor: true,
  },
];

function text(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ');
  return String(value);
}

export function InForce() {
  const { data, error } = useSettings();
  return (
    <Section title="Settings in force" note="Without secrets.">
      <Failure error={error} />
      {data && <DataTable name="Settings in force" rows={data.data} columns={COLUMNS} rowId={({ name }) => name} />}
    </Section>
  );
}
