/** A choice among more than can be offered at once: what is typed is searched by the gateway. */
import type { OptionsFilter } from '@mantine/core';
import { useState } from 'react';

/** What is offered; a search finds the others. */
export const OFFERED = 50;

/** `chosen`: the label of what is chosen, which the field shows as if it were typed. */
export function useSearch(chosen: string | undefined) {
  const [text, setText] = useState('');
  const [opened, setOpened] = useState(false);
  return {
    query: text === chosen ? '' : text.trim(),
    /** Whether anybody wants to choose. */
    opened,
    select: {
      searchable: true,
      filter: asFound,
      searchValue: text,
      onSearchChange: setText,
      onDropdownOpen: () => setOpened(true),
    },
  };
}

/** Also what was found by something else than its label. */
const asFound: OptionsFilter = ({ options }) => options;
