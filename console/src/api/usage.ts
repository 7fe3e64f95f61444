/** Sums from the ledger: what was spent, by whom, on what. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import type { paths } from './schema.ts';

export type UsageRow = Schemas['UsageRow'];
export type UsageFigures = Schemas['UsageFigures'];
export type UsageQuery = NonNullable<paths['/admin/v1/usage']['get']['parameters']['query']>;

export function usageOf(query: UsageQuery, signal?: AbortSignal) {
  return call('get', '/admin/v1/usage', { query, ...(signal !== undefined && { signal }) });
}

export function useUsage(query: UsageQuery, enabled = true) {
  return useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => usageOf(query, signal),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
    enabled,
  });
}
