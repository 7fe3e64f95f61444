import type { AdminApp } from '../http/framework.ts';
import { VIEWERS } from '../http/roles.ts';
import { UsageParameters, UsageReport } from '../schema/usage.ts';
import type { AdminService } from '../service.ts';

export function addUsageRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/usage',
    {
      config: { roles: VIEWERS },
      schema: {
        summary: 'Requests, tokens, cost, margin and response times, grouped as you ask',
        querystring: UsageParameters,
        response: { 200: UsageReport },
      },
    },
    async ({ query }) => service.usage(query),
  );
}
