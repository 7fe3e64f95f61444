import type { AdminApp } from '../http/framework.ts';
import { VIEWERS } from '../http/roles.ts';
import { Audit, LastAudit } from '../schema/audit.ts';
import type { AdminService } from '../service.ts';

export function addAuditRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/audit',
    {
      config: { roles: VIEWERS },
      schema: { summary: 'Recompute every balance from its entries', response: { 200: Audit } },
    },
    async () => service.audit(),
  );
  app.get(
    '/audit/last',
    {
      config: { roles: VIEWERS },
      schema: { summary: 'What came of the last audit, and how often there is one', response: { 200: LastAudit } },
    },
    async () => service.lastAudit(),
  );
}
