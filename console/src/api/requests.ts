/** The request log: pages of it, one request with its story, and requests as they end. */
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { addressOf, call, type Schemas } from './client.ts';
import { type Everything, everyRow } from './pages.ts';
import type { paths } from './schema.ts';

export type LoggedRequest = Schemas['Request'];
export type RequestHistory = Schemas['RequestHistory'];
export type Attempt = LoggedRequest['attempts'][number];
type Search = NonNullable<paths['/admin/v1/requests']['get']['parameters']['query']>;

/** As the address of the page has them. */
export const REQUEST_FILTERS = [
  'status',
  'key',
  'account',
  'below',
  'model',
  'model_part',
  'provider',
  'format',
  'client_request_id',
  'condition',
  'since',
  'until',
  'slower_than',
  'costlier_than',
] as const;
export type RequestFilter = (typeof REQUEST_FILTERS)[number];
/** What a request can fail with. */
export const CONDITIONS = [
  'provider_unavailable',
  'upstream_error',
  'upstream_timeout',
  'service_unavailable',
  'internal_error',
  'rate_limit_exceeded',
  'limit_reached',
  'insufficient_credit',
  'balance_temporarily_reserved',
  'invalid_request',
  'model_not_found',
  'context_length_exceeded',
  'request_too_large',
  'invalid_credentials',
  'key_expired',
  'key_disabled',
  'idempotency_in_flight',
  'idempotency_conflict',
] as const satisfies readonly Search['condition'][];
export type RequestFilters = Partial<Record<RequestFilter, string>>;

export function useRequests(filters: RequestFilters, limit = 50) {
  return useInfiniteQuery({
    queryKey: ['requests', filters, limit],
    queryFn: ({ pageParam, signal }) =>
      call('get', '/admin/v1/requests', {
        query: { ...(filters as Search), limit, ...(pageParam !== '' && { before: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchOnWindowFocus: false,
  });
}

/** All that match, the newest 10,000 at most. */
export function allRequests(filters: RequestFilters): Promise<Everything<LoggedRequest>> {
  return everyRow('“gateway requests list --before ID” has the others', async ({ limit, cursor: before }) => {
    const query: Search = { ...(filters as Search), limit, ...(before !== undefined && { before }) };
    const { data, next } = await call('get', '/admin/v1/requests', { query });
    return { data, next_cursor: next };
  });
}

export function useRequest(id: string) {
  return useQuery({
    queryKey: ['request', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/requests/{id}', { path: { id }, signal }),
    // It has ended: only what is done about it here changes, which asks for it again.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useRunning() {
  return useQuery({
    queryKey: ['requests', 'running'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/requests/running', { signal })).data,
    refetchInterval: 3_000,
  });
}

const LIVE_MAX = 500;
/** Of each half second: nobody reads more than that, and each of them takes time of the gateway. */
const LIVE_EACH = 20;

/** Newest first, from the moment on at which it was switched on. The browser connects again by itself. */
export function useLiveRequests(on: boolean, filters: RequestFilters) {
  const [requests, setRequests] = useState<readonly LoggedRequest[]>([]);
  const [more, setMore] = useState(false);
  const { since: _since, until: _until, ...wanted } = filters;
  const address = addressOf('/admin/v1/requests/stream', {}, { ...wanted, newest: String(LIVE_EACH) });
  const latest = useRef<LoggedRequest[]>([]);
  useEffect(() => {
    latest.current = [];
    setRequests([]);
    setMore(false);
    if (!on) return;
    const source = new EventSource(address);
    let due = 0;
    source.addEventListener('request', (event: MessageEvent<string>) => {
      latest.current = [JSON.parse(event.data) as LoggedRequest, ...latest.current].slice(0, LIVE_MAX);
      // One drawing for all that arrive within a frame.
      due ||= requestAnimationFrame(() => {
        due = 0;
        setRequests(latest.current);
      });
    });
    source.addEventListener('more', () => setMore(true));
    return () => {
      source.close();
      cancelAnimationFrame(due);
    };
  }, [on, address]);
  return { requests, more };
}
