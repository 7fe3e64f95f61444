/** The routes of every resource, one file each. A route only names its schemas and the operation of the service. */
import type { AdminApp } from '../http/framework.ts';
import type { AdminService } from '../service.ts';
import { addAccountRoutes } from './accounts.ts';
import { addAlertRoutes } from './alerts.ts';
import { addAuditRoutes } from './audit.ts';
import { addAuditTrailRoutes } from './audit-trail.ts';
import { addDoctorRoutes } from './doctor.ts';
import { addHealthRoutes } from './health.ts';
import { addKeyRoutes } from './keys.ts';
import { addModelListRoutes } from './model-lists.ts';
import { addModelRoutes } from './models.ts';
import { addMoneyRoutes } from './money.ts';
import { addOidcRoutes } from './oidc.ts';
import { addOperatorRoutes } from './operators.ts';
import { addPlaygroundRoutes } from './playground.ts';
import { addProviderRoutes } from './providers.ts';
import { addRequestRoutes } from './requests.ts';
import { addSessionRoutes } from './session.ts';
import { addSettingRoutes } from './settings.ts';
import { addTargetRoutes } from './targets.ts';
import { addUsageRoutes } from './usage.ts';

export const PREFIX = '/admin/v1';

const ROUTES: readonly ((app: AdminApp, service: AdminService) => void)[] = [
  addHealthRoutes,
  addKeyRoutes,
  addAccountRoutes,
  addAlertRoutes,
  addMoneyRoutes,
  addAuditRoutes,
  addUsageRoutes,
  addModelListRoutes,
  addModelRoutes,
  addProviderRoutes,
  addTargetRoutes,
  addSettingRoutes,
  addDoctorRoutes,
  addSessionRoutes,
  addOidcRoutes,
  addOperatorRoutes,
  addAuditTrailRoutes,
  addRequestRoutes,
  addPlaygroundRoutes,
];

export function addRoutes(app: AdminApp, service: AdminService): void {
  void app.register(
    async (scope) => {
      for (const add of ROUTES) add(scope, service);
    },
    { prefix: PREFIX },
  );
}
