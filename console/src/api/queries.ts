/** What pages read, under the names by which it is kept and renewed. */
import { useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';

export type Key = Schemas['Key'];
export type CreatedKey = Schemas['CreatedKey'];

/** Beyond so many, reading them all again every few seconds would take more than a page is worth. */
const MANY_KEYS = 1_000;

/** All of them, which may be many: `enabled` where a page needs them only at times. */
export function useKeys(enabled = true) {
  return useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/keys', { signal })).data,
    refetchInterval: ({ state }) => ((state.data?.length ?? 0) > MANY_KEYS ? 300_000 : 15_000),
    enabled,
  });
}

export function useKeysOf(account: string) {
  return useQuery({
    queryKey: ['keys', { account }],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/keys', { query: { account }, signal })).data,
    refetchInterval: 15_000,
  });
}

export function useKey(id: string, everyMs = 10_000) {
  return useQuery({
    queryKey: ['keys', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/keys/{id}', { path: { id }, signal }),
    refetchInterval: everyMs,
  });
}
