/**
 * Which roles a route is for. Every route says it; one that does not cannot be served. What changes something also has a
 * name for the audit trail.
 */
import type { Role } from '../../operators/port.ts';
import type { AdminApp } from './framework.ts';

/** `public`: no credential is needed. */
export type RouteRoles = readonly Role[] | 'public';

/** A role that is for everything; what an account-admin may do is a column of its own. */
export type OperatorRole = Exclude<Role, 'account-admin'>;

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly roles?: RouteRoles;
    /** What the audit trail calls it; on every route that changes something, and on no other. */
    readonly action?: string;
  }
  interface FastifyInstance {
    readonly declaredRoutes: readonly DeclaredRoute[];
  }
}

interface DeclaredRoute {
  readonly method: string;
  readonly url: string;
  readonly roles: RouteRoles;
  readonly action: string | null;
}

/** Whoever has signed in. */
export const ANYONE: readonly Role[] = ['owner', 'operator', 'viewer', 'account-admin'];
export const VIEWERS: readonly OperatorRole[] = ['owner', 'operator', 'viewer'];
export const OPERATORS: readonly OperatorRole[] = ['owner', 'operator'];
export const OWNERS: readonly OperatorRole[] = ['owner'];

const SAFE_METHODS: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];

/** What shows what people wrote, and what a provider leads a browser back to: recorded, although it is a GET. */
const RECORDED_READS: readonly string[] = ['request.content', 'session.create'];

export function isSafe(method: string): boolean {
  return SAFE_METHODS.includes(method);
}

/** Before the routes are added. */
export function requireDeclaredRoles(app: AdminApp): void {
  const declared: DeclaredRoute[] = [];
  app.decorate('declaredRoutes', declared);
  app.addHook('onRoute', ({ method: methods, url, config }) => {
    const { roles, action = null } = config ?? {};
    for (const method of [methods].flat()) {
      const name = `${method} ${url}`;
      if (roles === undefined) throw new TypeError(`${name} does not say which roles it is for`);
      if (isSafe(method) && action !== null && !RECORDED_READS.includes(action)) {
        throw new TypeError(`${name} changes nothing, but has an action`);
      }
      if (!isSafe(method) && action === null) throw new TypeError(`${name} has no action for the audit trail`);
      declared.push({ method, url, roles, action });
    }
  });
}
