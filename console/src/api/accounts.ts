/** Accounts: no page reads all of them. */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { call, type Schemas } from './client.ts';
import { type Everything, everyRow, usePages } from './pages.ts';
import type { paths } from './schema.ts';

export type Account = Schemas['Account'];
type AccountQuery = NonNullable<NonNullable<paths['/admin/v1/accounts']['get']['parameters']>['query']>;
export type AccountFilters = Pick<AccountQuery, 'parent' | 'below' | 'search' | 'status'>;

/** As `parent`: accounts that have none. */
export const NO_PARENT = 'none';
/** Below an account whose row is open; its own page has the others. */
export const BELOW_SHOWN = 200;

/** Oldest first, a page at a time. */
export function useAccountPages(filters: AccountFilters) {
  const { rows: accounts, ...pages } = usePages(
    ['accounts', 'pages', filters],
    (page, signal) => call('get', '/admin/v1/accounts', { query: { ...filters, ...page }, signal }),
    // What is below another account is not shown for this one.
    filters.parent === undefined || filters.parent === NO_PARENT,
  );
  return { accounts, ...pages };
}

/** All that fit, whatever level they are of, the oldest 10,000 at most. */
export function everyAccount(filters: AccountFilters): Promise<Everything<Account>> {
  return everyRow('“gateway export accounts” has all', (page) =>
    call('get', '/admin/v1/accounts', { query: { ...filters, ...page } }),
  );
}

export interface Below {
  readonly accounts: readonly Account[];
  readonly all: boolean;
}

/** The accounts directly below each of these; absent where they are still on their way. */
export function useBelow(parents: readonly string[]): ReadonlyMap<string, Below> {
  const byParent = useCallback(
    (found: readonly { readonly data: Schemas['AccountList'] | undefined }[]) =>
      new Map(
        parents.flatMap((parent, index) => {
          const page = found[index]?.data;
          return page === undefined ? [] : [[parent, { accounts: page.data, all: page.next_cursor === null }]];
        }),
      ),
    [parents],
  );
  return useQueries({
    queries: parents.map((parent) => ({
      queryKey: ['accounts', 'below', parent],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('get', '/admin/v1/accounts', { query: { parent, limit: BELOW_SHOWN }, signal }),
      refetchInterval: 15_000,
    })),
    combine: byParent,
  });
}

/** The first few that fit; without a text, the oldest. */
export function useFoundAccounts(search: string, limit: number, enabled = true, filters: AccountFilters = {}) {
  return useQuery({
    queryKey: ['accounts', 'found', search, limit, filters],
    queryFn: async ({ signal }) => {
      const query = { ...filters, limit, ...(search !== '' && { search }) };
      return (await call('get', '/admin/v1/accounts', { query, signal })).data;
    },
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** Whether there are any that could be chosen. */
export function useHasAccounts(): boolean {
  return (useFoundAccounts('', 1).data?.length ?? 0) > 0;
}

export function useAccount(id: string, everyMs = 10_000, enabled = true) {
  return useQuery({
    queryKey: ['accounts', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/accounts/{id}', { path: { id }, signal }),
    refetchInterval: everyMs,
    enabled,
  });
}
