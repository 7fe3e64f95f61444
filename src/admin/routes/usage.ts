import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import { UsageParameters, UsageReport } from '../schema/usage.ts';
import type { AdminService } from '../service.ts';

export function addUsageRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/usage',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: {
        summary: 'Requests, tokens, cost, margin and response times, grouped as you ask',
        querystring: UsageParameters,
        response: { 200: UsageReport },
      },
    },
    async (request) => acting(service, request).usage(request.query),
  );
}
