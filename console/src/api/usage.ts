/** Sums from the ledger: what was spent, by whom, on what. */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import type { paths } from './schema.ts';

export type UsageRow = Schemas['UsageRow'];
export type UsageFigures = Schemas['UsageFigures'];
type Parameters = NonNullable<paths['/admin/v1/usage']['get']['parameters']['query']>;

export function useUsage(query: Parameters, enabled = true) {
  return useQuery({
    queryKey: ['usage', query],
    queryFn: ({ signal }) => call('get', '/admin/v1/usage', { query, signal }),
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** A time from which to which, and where its rows are drawn. */
export interface UsageStep {
  readonly at: number;
  readonly since: string;
  readonly until: string;
}

export interface SteppedRows {
  readonly rows: readonly (UsageRow & { readonly at: number })[];
  readonly error: Error | null;
}

/** A report for each of several times, for those that a report does not group by itself. */
export function useUsageSteps(by: NonNullable<Parameters['by']>, steps: readonly UsageStep[]): SteppedRows {
  return useQueries({
    queries: steps.map(({ since, until }) => ({
      queryKey: ['usage', { by, since, until }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('get', '/admin/v1/usage', { query: { by, since, until }, signal }),
      refetchInterval: 30_000,
    })),
    combine: (results) => ({
      rows: results.flatMap(
        ({ data }, index) => data?.data.map((row) => ({ ...row, at: steps[index]?.at ?? 0 })) ?? [],
      ),
      error: results.find(({ error }) => error !== null)?.error ?? null,
    }),
  });
}
