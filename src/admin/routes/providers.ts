import type { AdminApp } from '../http/framework.ts';
import { VIEWERS } from '../http/roles.ts';
import { ProviderStateList } from '../schema/state.ts';
import type { AdminService } from '../service.ts';

export function addProviderRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/providers',
    {
      config: { roles: VIEWERS },
      schema: {
        summary:
          'Providers with the health, circuit and cool-downs of each target, as the worst of the workers sees it',
        response: { 200: ProviderStateList },
      },
    },
    async () => ({ object: 'list' as const, data: (await service.gateway.inspect()).providers }),
  );
}
