/** What pages read, under the names by which it is kept and renewed. */
import { useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';

export type Key = Schemas['Key'];
export type CreatedKey = Schemas['CreatedKey'];

/** All of them, which may be many: `enabled` where a page needs them only at times. */
export function useKeys(enabled = true) {
  return useQuery({
    queryKey: ['keys'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/keys', { signal })).data,
    refetchInterval: 15_000,
    enabled,
  });
}

export function useKey(id: string, everyMs = 10_000) {
  return useQuery({
    queryKey: ['keys', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/keys/{id}', { path: { id }, signal }),
    refetchInterval: everyMs,
  });
}
