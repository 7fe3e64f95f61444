/** Alerts, their deliveries and the webhooks of accounts, as the API takes and gives them. */
import { DELIVERY_STATES } from '../../alerts/port.ts';
import { ALERT_TYPES } from '../../core/alert-types.ts';
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';

const closed = { additionalProperties: false };
const nullableText = Type.Union([Type.String(), Type.Null()]);
const page = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Default 50.' })),
  cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: 'The next_cursor of the page before.' })),
};
const nextCursor = Type.Union([Type.String(), Type.Null()], {
  description: 'For the next page; null on the last one.',
});

export const AlertQuery = Type.Object(
  { ...page, type: Type.Optional(Type.Enum([...ALERT_TYPES])) },
  { title: 'AlertQuery', ...closed },
);

export const DeliveryQuery = Type.Object(
  {
    ...page,
    state: Type.Optional(
      Type.Enum([...DELIVERY_STATES], { description: 'dead: it was given up after the last attempt.' }),
    ),
  },
  { title: 'DeliveryQuery', ...closed },
);

const Alert = Type.Object(
  {
    id: Type.String({ description: 'Sent as webhook-id; the same for the same event.' }),
    type: Type.Enum([...ALERT_TYPES]),
    at: Type.String(),
    data: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'Alert' },
);
export const AlertList = Type.Object(
  { object: Type.Literal('list'), enabled: Type.Boolean(), data: Type.Array(Alert), next_cursor: nextCursor },
  { title: 'AlertList' },
);

const AlertDelivery = Type.Object(
  {
    alert_id: Type.String(),
    type: Type.Enum([...ALERT_TYPES]),
    target: Type.String({ description: 'webhook NAME or command of the config file, or account ID.' }),
    state: Type.Enum([...DELIVERY_STATES]),
    attempts: Type.Integer(),
    raised_at: Type.String(),
    next_attempt_at: nullableText,
    ended_at: nullableText,
    error: Type.Union([Type.String(), Type.Null()], { description: 'Why the last attempt failed.' }),
  },
  { title: 'AlertDelivery' },
);
export const AlertDeliveryList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(AlertDelivery), next_cursor: nextCursor },
  { title: 'AlertDeliveryList' },
);

export const AlertTest = Type.Object(
  { id: Type.String(), ok: Type.Boolean(), deliveries: Type.Array(AlertDelivery) },
  { title: 'AlertTest' },
);

export const WebhookBody = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2_000,
      expected: 'an https address',
      description: 'Where the alerts of the account, of those below it and of their keys are posted to.',
    }),
  },
  { title: 'NewAccountWebhook', ...closed },
);

export const AccountWebhook = Type.Object(
  {
    account: Type.String(),
    url: nullableText,
    secret: Type.Union([Type.String(), Type.Null()], {
      description: 'Signs what is posted. It is shown once, when the webhook is set.',
    }),
  },
  { title: 'AccountWebhook' },
);

export type AlertView = View<typeof Alert>;
export type AlertDeliveryView = View<typeof AlertDelivery>;
export type AlertTestView = View<typeof AlertTest>;
export type AccountWebhookView = View<typeof AccountWebhook>;
