/** Adds every operation to an application, and the few routes that are more than a row: sessions, sign-in, the live stream. */
import { addOidcRoutes } from '../operators/oidc-routes.ts';
import { addSessionRoutes } from '../operators/session-routes.ts';
import { addRequestStream } from '../requests/stream.ts';
import { PREFIX, ROUTES } from '../routes.ts';
import type { AdminService } from '../service.ts';
import type { AdminApp } from './framework.ts';
import { addRoute } from './route.ts';

export function addRoutes(app: AdminApp, service: AdminService): void {
  void app.register(
    async (scope) => {
      for (const row of Object.values(ROUTES)) addRoute(scope, service, row);
      addSessionRoutes(scope, service);
      addOidcRoutes(scope, service);
      addRequestStream(scope, service);
    },
    { prefix: PREFIX },
  );
}
