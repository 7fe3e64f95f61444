import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { AuditTrailPage, AuditTrailQuery } from '../schema/audit-trail.ts';
import type { AdminService } from '../service.ts';

export function addAuditTrailRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/audit-trail',
    {
      config: { roles: OPERATORS },
      schema: {
        summary: 'Who did what, newest first; refused actions too',
        querystring: AuditTrailQuery,
        response: { 200: AuditTrailPage },
      },
    },
    async ({ query }) => service.auditTrail(query),
  );
}
