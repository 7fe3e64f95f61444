/** Tells a caller who asks for what is not there what there is. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AdminError } from '../error.ts';
import type { AdminApp } from './framework.ts';

export class RouteTable {
  /** Methods by path, in the order of the routes. */
  readonly #methods = new Map<string, string[]>();

  constructor(app: AdminApp) {
    app.addHook('onRoute', ({ method, url }) => {
      const known = this.#methods.get(url) ?? [];
      this.#methods.set(url, [...known, ...[method].flat()]);
    });
  }

  refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
    const path = request.url.split('?', 1)[0] ?? '';
    const found = [...this.#methods].find(([pattern]) => matches(pattern, path));
    if (found === undefined) {
      throw new AdminError('not_found', `no such route: expected one of ${[...this.#methods.keys()].join(', ')}`);
    }
    const allow = found[1].join(', ');
    void reply.header('allow', allow);
    throw new AdminError('method_not_allowed', `${request.url} supports ${allow}, not ${request.method}`);
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((segment, index) => (segment.startsWith(':') ? given[index] !== '' : segment === given[index]))
  );
}
