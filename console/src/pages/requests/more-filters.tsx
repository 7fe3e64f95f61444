/** The filters of the list of requests that are not always in view. */
import { Button, Popover, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { RequestFilter, RequestFilters } from '../../api/requests.ts';
import css from './requests.module.css';

type Name = Extract<RequestFilter, 'model_part' | 'provider' | 'slower_than' | 'costlier_than' | 'since' | 'until'>;

const FIELDS: readonly { name: Name; label: string; placeholder: string }[] = [
  { name: 'model_part', label: 'Model with', placeholder: 'a part of its name' },
  { name: 'provider', label: 'Provider', placeholder: 'one that was called' },
  { name: 'slower_than', label: 'Slower than', placeholder: '500ms, 2s' },
  { name: 'costlier_than', label: 'Costlier than', placeholder: '0.25 credits' },
  { name: 'since', label: 'From', placeholder: '24h, 2026-10-01, 2026-10-01T08:00Z' },
  { name: 'until', label: 'Until', placeholder: '1h, 2026-10-02' },
];

export function MoreFilters({
  filters,
  set,
  seesProviders,
}: {
  filters: RequestFilters;
  set: (name: Name, value: string | null) => void;
  seesProviders: boolean;
}) {
  const [opened, setOpened] = useState(false);
  const [draft, setDraft] = useState<RequestFilters>({});
  const open = (): void => {
    setDraft(filters);
    setOpened(true);
  };
  const apply = (): void => {
    for (const { name } of FIELDS) if (draft[name] !== filters[name]) set(name, draft[name]?.trim() ?? null);
    setOpened(false);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus withinPortal>
      <Popover.Target>
        <Button size="xs" variant="default" onClick={opened ? () => setOpened(false) : open}>
          More filters
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form
          className={css.filters}
          onSubmit={(event) => {
            event.preventDefault();
            apply();
          }}
        >
          {FIELDS.filter(({ name }) => name !== 'provider' || seesProviders).map(({ name, label, placeholder }) => (
            <TextInput
              key={name}
              size="xs"
              label={label}
              placeholder={placeholder}
              value={draft[name] ?? ''}
              onChange={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
            />
          ))}
          <Button size="xs" type="submit">
            Apply
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
