/** What pages read, under the names by which it is kept and renewed. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, type Schemas } from './client.ts';
import type { paths } from './schema.ts';

export type Key = Schemas['Key'];
export type CreatedKey = Schemas['CreatedKey'];
type KeyQuery = NonNullable<paths['/admin/v1/keys']['get']['parameters']['query']>;
export type KeyFilters = Pick<KeyQuery, 'account' | 'search' | 'status'>;

const KEYS_PER_PAGE = 200;

/** Newest first, a page at a time: there may be a hundred thousand of them. */
export function useKeyPages(filters: KeyFilters) {
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, error, isPending, refetch } = useInfiniteQuery({
    queryKey: ['keys', 'pages', filters],
    queryFn: ({ pageParam, signal }) =>
      call('get', '/admin/v1/keys', {
        query: { ...filters, limit: KEYS_PER_PAGE, ...(pageParam !== '' && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    // What is shown stays until a filter has found something; what another account has, does not.
    placeholderData: filters.account === undefined ? keepPreviousData : undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? 60_000 : 15_000),
  });
  const keys = useMemo(() => data?.pages.flatMap((page) => page.data), [data]);
  const more = hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined;
  return { keys, all: !hasNextPage, more, error, isPending, refetch };
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
