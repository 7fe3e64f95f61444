/** Lists that come a page at a time: there may be a hundred thousand of what they have. */
import { type InfiniteQueryObserverBaseResult, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

const PER_PAGE = 200;

interface Page<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/** `keep`: what is shown stays until something else was found. */
export function usePages<Row>(
  queryKey: readonly unknown[],
  read: (page: PageQuery, signal: AbortSignal) => Promise<Page<Row>>,
  keep: boolean,
) {
  const pages = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      read({ limit: PER_PAGE, ...(pageParam !== '' && { cursor: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: keep ? keepPreviousData : undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? 60_000 : 15_000),
  });
  const { data, error, isPending, refetch } = pages;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data), [data]);
  return { rows, all: !pages.hasNextPage, more: nextPage(pages), error, isPending, refetch };
}

const EVERY_MAX = 10_000;
const EVERY_PAGE = 1_000;

/** All rows of a list, or as many of them as one file gets. */
export interface Everything<Row> {
  readonly rows: readonly Row[];
  /** Where the others are; null where there are none. */
  readonly rest: string | null;
}

/** Page after page, up to 10,000 rows. `rest`: where the others are. */
export async function everyRow<Row>(
  rest: string,
  read: (page: PageQuery) => Promise<Page<Row>>,
): Promise<Everything<Row>> {
  const rows: Row[] = [];
  let cursor: string | null = '';
  while (cursor !== null && rows.length < EVERY_MAX) {
    const page: Page<Row> = await read({ limit: EVERY_PAGE, ...(cursor !== '' && { cursor }) });
    rows.push(...page.data);
    cursor = page.next_cursor;
  }
  return { rows, rest: cursor === null ? null : rest };
}

type Pages = Pick<
  InfiniteQueryObserverBaseResult,
  'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'fetchNextPage'
>;

/** Gets the next page. Nothing where there is none, where it is on its way, and where it failed until a retry works. */
export function nextPage(pages: Pages): (() => void) | undefined {
  if (!pages.hasNextPage || pages.isFetchingNextPage || pages.isFetchNextPageError) return undefined;
  return () => void pages.fetchNextPage();
}
