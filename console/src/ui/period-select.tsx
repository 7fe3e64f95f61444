import { Select } from '@mantine/core';

const PERIODS = [
  { value: 'day', label: 'per day' },
  { value: 'week', label: 'per week' },
  { value: 'month', label: 'per month' },
  { value: 'none', label: 'in total' },
];

/** How often a budget or a cap starts over. */
export function PeriodSelect({
  value,
  error,
  label = 'Period',
  onChange,
}: {
  value: string;
  error?: string | undefined;
  label?: string;
  onChange: (period: string) => void;
}) {
  return (
    <Select
      label={label}
      allowDeselect={false}
      value={value}
      error={error}
      onChange={(period) => onChange(period ?? 'month')}
      data={PERIODS}
    />
  );
}
