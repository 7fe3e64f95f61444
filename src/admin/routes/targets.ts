import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS } from '../http/roles.ts';
import { TargetTest, TargetTestBody } from '../schema/state.ts';
import type { AdminService } from '../service.ts';

export function addTargetRoutes(app: AdminApp, service: AdminService): void {
  app.post(
    '/targets/test',
    {
      config: { roles: OPERATORS, action: 'target.test' },
      schema: {
        summary: 'Generate a token at one target of a model, which costs a little',
        body: TargetTestBody,
        response: { 200: TargetTest },
      },
    },
    async (request) => acting(service, request).testTarget(request.body),
  );
}
