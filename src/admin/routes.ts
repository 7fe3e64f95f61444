/** The admin route table. */
import { AdminError } from './api.ts';
import type { AdminService } from './service.ts';

export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Segments that begin with a colon are parameters. */
  readonly path: string;
  readonly status: number;
  readonly takesBody: boolean;
  run(service: AdminService, parameters: readonly string[], body: unknown): Promise<unknown>;
}

const ROUTES: readonly AdminRoute[] = [
  route('GET', '/admin/health', 200, async () => ({ ok: true, pid: process.pid })),
  route('POST', '/admin/keys', 201, (service, _, body) => service.createKey(body)),
  route('GET', '/admin/keys', 200, async (service) => ({ object: 'list', data: await service.listKeys() })),
  route('GET', '/admin/keys/:id', 200, (service, [id = '']) => service.showKey(id)),
  route('PATCH', '/admin/keys/:id', 200, (service, [id = ''], body) => service.changeKey(id, body)),
  route('DELETE', '/admin/keys/:id', 200, (service, [id = '']) => service.changeKey(id, { status: 'revoked' })),
  route('POST', '/admin/keys/:id/credit', 200, (service, [id = ''], body) => service.addCredit(id, body)),
  { ...route('POST', '/admin/keys/:id/secrets', 201, (service, [id = '']) => service.addSecret(id)), takesBody: false },
  route('DELETE', '/admin/keys/:id/secrets/:prefix', 200, (service, [id = '', prefix = '']) =>
    service.revokeSecret(id, prefix),
  ),
  route('GET', '/admin/audit', 200, (service) => service.audit()),
  route('GET', '/admin/model-lists', 200, (service) => service.modelLists()),
  { ...route('POST', '/admin/model-lists', 200, (service) => service.refreshModelLists()), takesBody: false },
];

export interface FoundRoute {
  /** Null when the path exists but supports other methods only. */
  readonly route: AdminRoute | null;
  readonly parameters: readonly string[];
  readonly allow: readonly string[];
}

export function findRoute(method: string, url: string): FoundRoute {
  const path = url.split('?', 1)[0] ?? '';
  const allow: string[] = [];
  for (const candidate of ROUTES) {
    const parameters = match(candidate.path, path);
    if (parameters === null) continue;
    if (candidate.method === method) return { route: candidate, parameters, allow };
    allow.push(candidate.method);
  }
  if (allow.length === 0) {
    const known = [...new Set(ROUTES.map((one) => one.path))].join(', ');
    throw new AdminError('not_found', `no such route: expected one of ${known}`);
  }
  return { route: null, parameters: [], allow };
}

function route(method: AdminRoute['method'], path: string, status: number, run: AdminRoute['run']): AdminRoute {
  return { method, path, status, run, takesBody: method === 'POST' || method === 'PATCH' };
}

function match(pattern: string, path: string): readonly string[] | null {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return null;
  const parameters: string[] = [];
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? '';
    if (!segment.startsWith(':')) {
      if (segment !== value) return null;
      continue;
    }
    if (value === '') return null;
    parameters.push(decode(value));
  }
  return parameters;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new AdminError('invalid_input', 'the path is not valid percent-encoded UTF-8');
  }
}
