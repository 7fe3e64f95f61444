/** Which time the overview is of, and whose days. */
import { SegmentedControl, Select, TextInput } from '@mantine/core';
import { CALENDAR, CUSTOM, dayText, LOCAL_ZONE, type Period, ROLLING, type Zone } from './periods.ts';

type Name = 'period' | 'from' | 'to' | 'zone';

export function PeriodChoice({
  period,
  zone,
  filters,
  now,
  set,
}: {
  period: Period;
  zone: Zone;
  filters: Partial<Record<Name, string>>;
  now: number;
  set: (name: Name, value: string | null) => void;
}) {
  const isCustom = filters.period === CUSTOM;
  const others = [...CALENDAR.map(({ id, label }) => ({ value: id, label })), { value: CUSTOM, label: 'From – to' }];
  const isOther = others.some(({ value }) => value === filters.period);
  const choose = (value: string | null): void => {
    if (value === CUSTOM) {
      set('from', dayText(period.range(now, zone).since, zone));
      set('to', dayText(now, zone));
    }
    set('period', value);
  };
  return (
    <>
      <SegmentedControl
        size="xs"
        aria-label="Period"
        value={isOther ? '' : period.id}
        onChange={choose}
        data={ROLLING.map(({ id, label }) => ({ value: id, label }))}
      />
      <Select
        size="xs"
        w={130}
        aria-label="Another period"
        placeholder="Another period"
        data={others}
        value={isOther ? (filters.period ?? null) : null}
        onChange={choose}
      />
      {isCustom && (
        <>
          <TextInput
            size="xs"
            type="date"
            aria-label="From"
            max={filters.to}
            value={filters.from ?? ''}
            onChange={(event) => set('from', event.currentTarget.value)}
          />
          <TextInput
            size="xs"
            type="date"
            aria-label="To, included"
            min={filters.from}
            value={filters.to ?? ''}
            onChange={(event) => set('to', event.currentTarget.value)}
          />
        </>
      )}
      {LOCAL_ZONE !== 'UTC' && (
        <Select
          size="xs"
          w={170}
          aria-label="Days of"
          allowDeselect={false}
          data={[
            { value: 'UTC', label: 'UTC' },
            { value: 'local', label: LOCAL_ZONE },
          ]}
          value={zone}
          onChange={(value) => set('zone', value === 'local' ? 'local' : null)}
        />
      )}
    </>
  );
}
