/** Providers and models that operators have defined beside the config file. */
import { useQuery } from '@tanstack/react-query';
import { call, type Schemas } from './client.ts';
import { useSession } from './session.tsx';

export type Definition = Schemas['Definition'];

export function useDefinitions() {
  const { may } = useSession();
  return useQuery({
    enabled: may('get /admin/v1/definitions'),
    queryKey: ['definitions'],
    queryFn: async ({ signal }) => (await call('get', '/admin/v1/definitions', { signal })).data,
    refetchInterval: 5_000,
  });
}

/** As it is now, which may be newer than what a list has. */
export function useProviderDefinition(name: string | null) {
  return useQuery({
    enabled: name !== null,
    queryKey: ['definitions', 'provider', name],
    queryFn: ({ signal }) => call('get', '/admin/v1/providers/{name}', { path: { name: name ?? '' }, signal }),
  });
}

export function useModelDefinition(id: string | null) {
  return useQuery({
    enabled: id !== null,
    queryKey: ['definitions', 'model', id],
    queryFn: ({ signal }) => call('get', '/admin/v1/models/{id}', { path: { id: id ?? '' }, signal }),
  });
}

/** What a form sends: only what differs, and null for what is to be taken out. */
export function changesOf(before: object, after: object): Record<string, unknown> {
  const old: Readonly<Record<string, unknown>> = { ...before };
  const fresh: Readonly<Record<string, unknown>> = { ...after };
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(fresh[name]))
      .map((name) => [name, fresh[name] ?? null]),
  );
}

export function createProvider(name: string, fields: object) {
  return call('post', '/admin/v1/providers', { body: { ...fields, name } });
}

export function changeProvider(name: string, body: Record<string, unknown>, version?: number) {
  return call('patch', '/admin/v1/providers/{name}', {
    path: { name },
    body,
    ...(version !== undefined && { version }),
  });
}

export function removeProvider(name: string) {
  return call('delete', '/admin/v1/providers/{name}', { path: { name } });
}

export function createModel(id: string, fields: object) {
  return call('post', '/admin/v1/models', { body: { ...fields, id } });
}

export function changeModel(id: string, body: Record<string, unknown>, version?: number) {
  return call('patch', '/admin/v1/models/{id}', { path: { id }, body, ...(version !== undefined && { version }) });
}

export function removeModel(id: string) {
  return call('delete', '/admin/v1/models/{id}', { path: { id } });
}

export function setPrice(id: string, body: Schemas['NewPrice'], version?: number) {
  return call('post', '/admin/v1/models/{id}/prices', {
    path: { id },
    body,
    ...(version !== undefined && { version }),
  });
}

export function cancelPrice(id: string, from: string) {
  return call('delete', '/admin/v1/models/{id}/prices/{from}', { path: { id, from } });
}
