/** What pages read, under the names by which it is kept and renewed. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import { type Everything, everyRow, usePages } from './pages.ts';
import type { paths } from './schema.ts';

export type Key = Schemas['Key'];
export type CreatedKey = Schemas['CreatedKey'];
type KeyQuery = NonNullable<paths['/admin/v1/keys']['get']['parameters']['query']>;
export type KeyFilters = Pick<KeyQuery, 'account' | 'search' | 'status'>;

/** Newest first, a page at a time. */
export function useKeyPages(filters: KeyFilters) {
  const { rows: keys, ...pages } = usePages(
    ['keys', 'pages', filters],
    (page, signal) => call('get', '/admin/v1/keys', { query: { ...filters, ...page }, signal }),
    // What another account has, is not shown for this one.
    filters.account === undefined,
  );
  return { keys, ...pages };
}

/** All that fit, the newest 10,000 at most. */
export function everyKey(filters: KeyFilters): Promise<Everything<Key>> {
  return everyRow('“gateway export keys” has all', (page) =>
    call('get', '/admin/v1/keys', { query: { ...filters, ...page } }),
  );
}

/** The first few that fit; without a text, the newest. */
export function useFoundKeys(search: string, limit: number, enabled = true) {
  return useQuery({
    queryKey: ['keys', 'found', search, limit],
    queryFn: async ({ signal }) =>
      (await call('get', '/admin/v1/keys', { query: { limit, ...(search !== '' && { search }) }, signal })).data,
    placeholderData: keepPreviousData,
    enabled,
  });
}

export function useKey(id: string, everyMs = 10_000, enabled = true) {
  return useQuery({
    queryKey: ['keys', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/keys/{id}', { path: { id }, signal }),
    refetchInterval: everyMs,
    enabled,
  });
}
