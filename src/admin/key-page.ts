/** A page of keys. Keys are never removed, so that a page begins after the last key of the one before. */
import type { KeyPageView, KeyView } from './api.ts';
import type { KeyQuery } from './schema/keys.ts';
import type { View } from './schema/view.ts';
import { invalid } from './validate.ts';

export type KeyFilters = View<typeof KeyQuery>;

/** `keys`: all of them, in order. */
export function keyPage(keys: readonly KeyView[], { limit, cursor, ...filters }: KeyFilters): KeyPageView {
  const start = cursor === undefined ? 0 : keys.findIndex(({ id }) => id === cursor) + 1;
  if (cursor !== undefined && start === 0) throw invalid('cursor', 'is not the next_cursor of a page before');
  const found = keys.slice(start).filter((key) => fits(key, filters));
  const data = found.slice(0, limit);
  return { object: 'list', data, next_cursor: found.length > data.length ? (data.at(-1)?.id ?? null) : null };
}

function fits(key: KeyView, { status, mode, account, label, search }: Omit<KeyFilters, 'limit' | 'cursor'>): boolean {
  return (
    (status === undefined || key.status === status) &&
    (mode === undefined || key.mode === mode) &&
    (account === undefined || key.account === account) &&
    (label === undefined || key.label === label) &&
    (search === undefined || [key.label ?? '', key.id, ...key.prefixes].some((text) => contains(text, search)))
  );
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
