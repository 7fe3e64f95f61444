import type { AdminApp } from '../http/framework.ts';
import { VIEWERS } from '../http/roles.ts';
import { ModelStateList } from '../schema/state.ts';
import type { AdminService } from '../service.ts';

export function addModelRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/models',
    {
      config: { roles: VIEWERS },
      schema: {
        summary: 'Models in use: price, context window and limits, and where each comes from',
        response: { 200: ModelStateList },
      },
    },
    async () => ({ object: 'list' as const, data: (await service.gateway.inspect()).models }),
  );
}
