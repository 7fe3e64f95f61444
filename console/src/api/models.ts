/** What the gateway serves, and how its providers do. */
import { useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import { useSession } from './session.tsx';

export type Model = Schemas['ModelState'];
export type Provider = Schemas['ProviderState'];
export type Target = Schemas['TargetState'];

/** Whoever may not see models gets none. */
export function useModels() {
  const { may } = useSession();
  return useQuery({
    enabled: may('get /admin/v1/models'),
    queryKey: ['models'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/models', { signal })).data,
    staleTime: 30_000,
  });
}

export function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/providers', { signal })).data,
    refetchInterval: 5_000,
  });
}

/** Names to choose from in forms; none until they are known. */
export function useModelNames(): readonly string[] {
  return useModels().data?.map(({ id }) => id) ?? [];
}
