import { AdminError } from '../api.ts';
import { envelope } from '../http/errors.ts';
import type { AdminApp } from '../http/framework.ts';
import { ANYONE } from '../http/roles.ts';
import { Health } from '../schema/health.ts';
import type { AdminService } from '../service.ts';

export function addHealthRoutes(app: AdminApp): void {
  app.get(
    '/health',
    { config: { roles: ANYONE }, schema: { summary: 'Whether the gateway runs', response: { 200: Health } } },
    async () => ({
      ok: true,
      pid: process.pid,
    }),
  );
}

/** The routes that supervisors and load balancers ask, as on the public listener: at the root, and without a credential. */
export function addProbeRoutes(app: AdminApp, service: AdminService): void {
  const probe = { method: ['GET', 'HEAD'], config: { access: 'open' as const, roles: 'public' as const } };
  app.route({ ...probe, url: '/healthz', handler: async () => ({ status: 'ok' }) });
  app.route({
    ...probe,
    url: '/readyz',
    handler: async (request, reply) => {
      if (await service.ready()) return { status: 'ready' };
      // An answer, not a failure of this request: nothing is logged.
      const error = new AdminError(
        'unavailable',
        'the gateway takes no requests: its store is out of reach, or it stops',
      );
      return reply.code(503).header('retry-after', '1').send(envelope(error, request.id));
    },
  });
}
