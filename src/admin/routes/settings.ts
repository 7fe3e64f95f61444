import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { SettingsInForce } from '../schema/state.ts';
import type { AdminService } from '../service.ts';

export function addSettingRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/settings',
    {
      config: { roles: OPERATORS },
      schema: { summary: 'The settings in force, without secrets', response: { 200: SettingsInForce } },
    },
    async () => {
      const { gateway } = service;
      return { process: gateway.settings(), config: (await gateway.inspect()).policy };
    },
  );
}
