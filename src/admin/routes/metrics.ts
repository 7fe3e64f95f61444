import type { AdminApp } from '../http/framework.ts';
import { VIEWERS } from '../http/roles.ts';
import type { AdminService } from '../service.ts';

/** At the root, where Prometheus looks for it. */
export function addMetricsRoute(app: AdminApp, service: AdminService): void {
  app.get('/metrics', { config: { access: 'metrics', roles: VIEWERS } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await service.metrics()),
  );
}
