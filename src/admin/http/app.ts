/** The admin API as an HTTP application: validation, access and errors around the routes of every resource. */
import fastifyHelmet from '@fastify/helmet';
import fastifyRateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyRequest } from 'fastify';
import { type Log, NO_LOG } from '../../core/log.ts';
import { AdminError } from '../error.ts';
import { PREFIX } from '../routes.ts';
import type { AdminService } from '../service.ts';
import { addMetricsRoute, addProbeRoutes } from '../state/routes.ts';
import { type AccessOptions, addAccessControl, clientAddress, overTcp } from './access.ts';
import { addRoutes } from './all-routes.ts';
import { addAuditTrail } from './audit.ts';
import { Console, isOfConsole, noSuchPage } from './console.ts';
import { asAdminError } from './errors.ts';
import { type AdminApp, newApp, refuse } from './framework.ts';
import { addIdempotency } from './idempotency.ts';
import { refuseUnknownPreconditions } from './if-match.ts';
import { ANYONE, requireDeclaredRoles } from './roles.ts';
import { RouteTable } from './route-table.ts';

/** A certificate chain and its private key, PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface AdminAppOptions extends AccessOptions {
  /** Null: plain HTTP. */
  readonly tls?: TlsIdentity | null;
  readonly log?: Log;
  /** The folder of the console's build; the package's own by default. */
  readonly consoleBuild?: string;
}

/** Per address. A page of the console asks a dozen times at once. */
const REQUESTS_PER_MINUTE = 3_000;

export async function adminApp(service: AdminService, options: AdminAppOptions): Promise<AdminApp> {
  const log = options.log ?? NO_LOG;
  const app = newApp();
  app.setErrorHandler((error, request, reply) => {
    request.refusal = asAdminError(error);
    refuse(error, request, reply, log);
  });
  addAuditTrail(app, service, log);
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' });
  });
  await app.register(fastifyHelmet, {
    // What is served here is data, not pages.
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // The listener speaks plain HTTP; a proxy with TLS in front says this for itself.
    strictTransportSecurity: false,
  });
  await app.register(fastifyRateLimit, {
    max: REQUESTS_PER_MINUTE,
    timeWindow: 60_000,
    keyGenerator: (request: FastifyRequest) => normalizeIP(clientAddress(request, options) ?? 'socket'),
    allowList: (request: FastifyRequest) => !overTcp(request),
    errorResponseBuilder: (_request, { after }) =>
      new AdminError('rate_limited', `more than ${REQUESTS_PER_MINUTE} requests in a minute: try again in ${after}`),
  });
  await addAccessControl(app, options, service.access);
  refuseUnknownPreconditions(app);
  addIdempotency(app, service.access, log);
  requireDeclaredRoles(app);
  const console = new Console(options.consoleBuild);
  await console.addTo(app);
  const table = new RouteTable(app);
  app.setNotFoundHandler((request, reply) => {
    if (isOfConsole(request)) console.serve(request, reply);
    else table.refuseUnknown(request, reply);
  });
  // Before its body is looked at, of which the framework expects something for some methods.
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || request.method === 'GET') return;
    if (isOfConsole(request)) throw noSuchPage();
    table.refuseUnknown(request, reply);
  });
  // Nothing can be called so, and PostgreSQL fails where it is asked.
  app.addHook('onRequest', async ({ url }) => {
    if (url.includes('%00')) throw new AdminError('invalid_input', 'the path or the query has a zero character (%00)');
  });
  // The router takes an empty segment (`/keys/`) for a parameter.
  app.addHook('onRequest', async (request, reply) => {
    if (Object.values(request.params ?? {}).includes('')) table.refuseUnknown(request, reply);
  });
  addRoutes(app, service);
  addProbeRoutes(app, service);
  addMetricsRoute(app, service);
  app.get(`${PREFIX}/openapi.json`, { config: { roles: ANYONE } }, async () => {
    const { openApiDocument } = await import('./openapi.ts');
    return openApiDocument(service);
  });
  await app.ready();
  return app;
}
