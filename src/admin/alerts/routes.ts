import { OPERATORS, OPERATORS_AND_ACCOUNTS, VIEWERS, VIEWERS_AND_ACCOUNTS } from '../http/roles.ts';
import { route } from '../http/route.ts';
import {
  AccountWebhook,
  AlertDeliveryList,
  AlertList,
  AlertQuery,
  AlertTest,
  DeliveryQuery,
  WebhookBody,
} from './schema.ts';

export const ALERT_ROUTES = {
  listAlerts: route({
    method: 'GET',
    path: '/alerts',
    roles: VIEWERS,
    summary: 'Alerts, newest first',
    query: AlertQuery,
    answer: AlertList,
    handle: (admin, { query }) => admin.alerts.list(query),
  }),
  listDeliveries: route({
    method: 'GET',
    path: '/alerts/deliveries',
    roles: VIEWERS,
    summary: 'What became of each delivery, newest first; dead letters too',
    query: DeliveryQuery,
    answer: AlertDeliveryList,
    handle: (admin, { query }) => admin.alerts.deliveries(query),
  }),
  testAlerts: route({
    method: 'POST',
    path: '/alerts/test',
    roles: OPERATORS,
    action: 'alert.test',
    summary: 'Send a test to every webhook and command of the config file, and say what became of it',
    answer: AlertTest,
    handle: (admin) => admin.alerts.test(),
  }),
  showWebhook: route({
    method: 'GET',
    path: '/accounts/:id/webhook',
    roles: VIEWERS_AND_ACCOUNTS,
    summary: 'The webhook of an account',
    answer: AccountWebhook,
    handle: (admin, { id }) => admin.alerts.webhook(id),
  }),
  setWebhook: route({
    method: 'PUT',
    path: '/accounts/:id/webhook',
    roles: OPERATORS_AND_ACCOUNTS,
    action: 'account.webhook',
    summary: 'Set the webhook of an account, with a new secret, shown once',
    body: WebhookBody,
    answer: AccountWebhook,
    handle: (admin, { id, body }) => admin.alerts.setWebhook(id, body),
  }),
  removeWebhook: route({
    method: 'DELETE',
    path: '/accounts/:id/webhook',
    roles: OPERATORS_AND_ACCOUNTS,
    action: 'account.webhook.remove',
    summary: 'Remove the webhook of an account',
    answer: AccountWebhook,
    handle: (admin, { id }) => admin.alerts.removeWebhook(id),
  }),
};
