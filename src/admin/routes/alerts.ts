import { Type } from '../../lib/schema-builder.ts';
import { acting } from '../http/audit.ts';
import type { AdminApp } from '../http/framework.ts';
import { OPERATORS, OPERATORS_AND_ACCOUNTS, VIEWERS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import {
  AccountWebhook,
  AlertDeliveryList,
  AlertList,
  AlertQuery,
  AlertTest,
  DeliveryQuery,
  WebhookBody,
} from '../schema/alerts.ts';
import type { AdminService } from '../service.ts';

const AccountPath = Type.Object({ id: Type.String() });

export function addAlertRoutes(app: AdminApp, service: AdminService): void {
  app.get(
    '/alerts',
    {
      config: { roles: VIEWERS },
      schema: { summary: 'Alerts, newest first', querystring: AlertQuery, response: { 200: AlertList } },
    },
    async ({ query }) => service.alerts.list(query),
  );

  app.get(
    '/alerts/deliveries',
    {
      config: { roles: VIEWERS },
      schema: {
        summary: 'What became of each delivery, newest first; dead letters too',
        querystring: DeliveryQuery,
        response: { 200: AlertDeliveryList },
      },
    },
    async ({ query }) => service.alerts.deliveries(query),
  );

  app.post(
    '/alerts/test',
    {
      config: { roles: OPERATORS, action: 'alert.test' },
      schema: {
        summary: 'Send a test to every webhook and command of the config file, and say what became of it',
        response: { 200: AlertTest },
      },
    },
    async (request) => acting(service, request).alerts.test(),
  );

  app.get(
    '/accounts/:id/webhook',
    {
      config: { roles: VIEWERS_AND_ACCOUNTS },
      schema: { summary: 'The webhook of an account', params: AccountPath, response: { 200: AccountWebhook } },
    },
    async (request) => acting(service, request).alerts.webhook(request.params.id),
  );

  app.put(
    '/accounts/:id/webhook',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.webhook' },
      schema: {
        summary: 'Set the webhook of an account, with a new secret, shown once',
        params: AccountPath,
        body: WebhookBody,
        response: { 200: AccountWebhook },
      },
    },
    async (request) => acting(service, request).alerts.setWebhook(request.params.id, request.body),
  );

  app.delete(
    '/accounts/:id/webhook',
    {
      config: { roles: OPERATORS_AND_ACCOUNTS, action: 'account.webhook.remove' },
      schema: { summary: 'Remove the webhook of an account', params: AccountPath, response: { 200: AccountWebhook } },
    },
    async (request) => acting(service, request).alerts.removeWebhook(request.params.id),
  );
}
