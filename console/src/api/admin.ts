/** Who runs the gateway, what they did, and whether the books add up. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import { useSession } from './session.tsx';

export type Operator = Schemas['ListedOperator'];
export type TrailEntry = Schemas['AuditTrailEntry'];

export function useOperators(enabled: boolean) {
  return useQuery({
    queryKey: ['operators'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/operators', { signal })).data,
    enabled,
  });
}

export function useAuditTrail(enabled: boolean) {
  return useInfiniteQuery({
    queryKey: ['audit-trail'],
    queryFn: ({ pageParam, signal }) =>
      call('get', '/admin/v1/audit-trail', {
        query: { limit: 50, ...(pageParam !== '' && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    enabled,
  });
}

export function useLastAudit() {
  return useQuery({ queryKey: ['last-audit'], queryFn: () => call('get', '/admin/v1/audit/last', {}) });
}

/** Whoever may not see it is told nothing of the config file. */
export function useConfiguration() {
  const { may } = useSession();
  return useQuery({
    enabled: may('get /admin/v1/configuration'),
    queryKey: ['configuration'],
    queryFn: ({ signal }) => call('get', '/admin/v1/configuration', { signal }),
    refetchInterval: 10_000,
  });
}

export function useSettings() {
  return useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => call('get', '/admin/v1/settings', { signal }),
  });
}
