import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { ModelLists, ModelListsRefresh } from '../schema/model-lists.ts';
import type { AdminService } from '../service.ts';

export function addModelListRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/model-lists',
    {
      config: { roles: VIEWERS },
      schema: { summary: 'What providers said of their models when last asked', response: { 200: ModelLists } },
    },
    async () => service.modelLists(),
  );

  app.post(
    '/model-lists',
    {
      config: { roles: OPERATORS, action: 'model_lists.refresh' },
      schema: { summary: 'Ask the providers for their models', response: { 200: ModelListsRefresh } },
    },
    async (request) => acting(service, request).refreshModelLists(),
  );
}
