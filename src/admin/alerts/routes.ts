import { OPERATORS, VIEWERS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import type { AdminService } from '../service.ts';
import {
  AccountWebhook,
  type AccountWebhookView,
  AlertDeliveryList,
  AlertList,
  AlertQuery,
  AlertTest,
  DeliveryQuery,
  WebhookBody,
} from './schema.ts';

/** The lookup before it also finds out whether there is such an account. */
const WEBHOOK_CHANGE = {
  before: (admin: AdminService, { id }: { readonly id: string }) => admin.alerts.webhook(id),
  after: ({ url }: AccountWebhookView) => ({ url }),
};

export const ALERT_ROUTES = {
  listAlerts: route({
    at: 'GET /alerts',
    roles: VIEWERS,
    summary: 'Alerts, newest first',
    query: AlertQuery,
    answer: AlertList,
    handle: (admin, { query }) => admin.alerts.list(query),
  }),
  listDeliveries: route({
    at: 'GET /alerts/deliveries',
    roles: VIEWERS,
    summary: 'Deliveries with their results, newest first, including those that were given up',
    query: DeliveryQuery,
    answer: AlertDeliveryList,
    handle: (admin, { query }) => admin.alerts.deliveries(query),
  }),
  testAlerts: route({
    at: 'POST /alerts/test',
    roles: OPERATORS,
    action: 'alert.test',
    recorded: { after: ({ id, ok }) => ({ id, ok }) },
    summary: 'Send a test to every webhook and command of the config file, and report the results',
    answer: AlertTest,
    handle: (admin) => admin.alerts.test(),
  }),
  showWebhook: route({
    at: 'GET /accounts/:id/webhook',
    roles: VIEWERS,
    accountAdmin: 'account',
    summary: 'The webhook of an account',
    answer: AccountWebhook,
    handle: (admin, { id }) => admin.alerts.webhook(id),
  }),
  setWebhook: route({
    at: 'PUT /accounts/:id/webhook',
    roles: OPERATORS,
    accountAdmin: 'account',
    action: 'account.webhook',
    recorded: WEBHOOK_CHANGE,
    summary: 'Set the webhook of an account, with a new secret, shown once',
    body: WebhookBody,
    answer: AccountWebhook,
    handle: (admin, { id, body }) => admin.alerts.setWebhook(id, body),
  }),
  removeWebhook: route({
    at: 'DELETE /accounts/:id/webhook',
    roles: OPERATORS,
    accountAdmin: 'account',
    action: 'account.webhook.remove',
    recorded: WEBHOOK_CHANGE,
    summary: 'Remove the webhook of an account',
    answer: AccountWebhook,
    handle: (admin, { id }) => admin.alerts.removeWebhook(id),
  }),
};
