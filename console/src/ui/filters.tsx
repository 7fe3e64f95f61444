/** Filters live in the address: a view can be sent to a colleague. Those that are set are chips. */
import { Select, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import css from './filters.module.css';
import { IconCross, IconSearch } from './icons.tsx';

export type Filters<Name extends string> = Partial<Record<Name, string>>;

export function useFilters<Name extends string>(names: readonly Name[]) {
  const [parameters, setParameters] = useSearchParams();
  const filters: Filters<Name> = {};
  for (const name of names) {
    const value = parameters.get(name);
    if (value !== null && value !== '') filters[name] = value;
  }
  const set = (name: Name, value: string | null | undefined): void =>
    setParameters(
      (before) => {
        const next = new URLSearchParams(before);
        if (value === null || value === undefined || value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return { filters, set };
}

/** What a list is asked for by its search and its status; a status that does not exist is none. */
export function searchOf<Status extends string>(
  { q, status }: Filters<'q' | 'status'>,
  statuses: readonly Status[],
): { search?: string; status?: Status } {
  const known = statuses.find((one) => one === status);
  return { ...(q !== undefined && { search: q }), ...(known !== undefined && { status: known }) };
}

export function StatusSelect({
  statuses,
  value,
  onChange,
}: {
  statuses: readonly string[];
  value: string | undefined;
  onChange: (status: string | null) => void;
}) {
  return (
    <Select
      size="xs"
      w={130}
      aria-label="Status"
      placeholder="Any status"
      clearable
      data={[...statuses]}
      value={value ?? null}
      onChange={onChange}
    />
  );
}

export function Chips<Name extends string>({
  filters,
  labels,
  onRemove,
}: {
  filters: Filters<Name>;
  labels: Readonly<Record<Name, string>>;
  onRemove: (name: Name) => void;
}) {
  const set = Object.entries(filters) as [Name, string][];
  if (set.length === 0) return null;
  return (
    <div className={css.chips}>
      {set.map(([name, value]) => (
        <button key={name} type="button" className={css.chip} onClick={() => onRemove(name)}>
          <span className="muted">{labels[name]}</span> {value}
          <IconCross size={12} />
          <span className={css.only}>remove this filter</span>
        </button>
      ))}
    </div>
  );
}

/** Focused by `/`. What is typed reaches the address after a moment, not with every letter. */
export function SearchBox({
  value,
  onChange,
  placeholder,
}: {
  value: string;
  onChange: (value: string) => void;
  placeholder: string;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), 200);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <TextInput
      className={css.search}
      size="xs"
      data-search
      aria-label={placeholder}
      placeholder={placeholder}
      leftSection={<IconSearch size={14} />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(text);
        if (event.key === 'Escape') event.currentTarget.blur();
      }}
    />
  );
}
