/** Alerts, their deliveries and the webhooks of accounts, as the API takes and gives them. */
import { DELIVERY_STATES, RECEIVER_KINDS } from '../../alerts/port.ts';
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

const TARGETS =
  'webhook NAME, slack NAME, email NAME or command of the config file; account ID: the webhook of an account; account ID RECEIVER: another receiver of it.';

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
    text: Type.String({ description: 'What happened, in a line.' }),
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
    target: Type.String({ description: TARGETS }),
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

export const AlertTestQuery = Type.Object(
  {
    receiver: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: `Only this one, by its target: ${TARGETS}` }),
    ),
  },
  { title: 'AlertTestQuery', ...closed },
);

const AlertReceiver = Type.Object(
  {
    target: Type.String({ description: TARGETS }),
    kind: Type.Enum(['webhook', 'slack', 'email', 'command']),
    name: Type.Union([Type.String(), Type.Null()], { description: 'In the config file.' }),
    account: Type.Union([Type.String(), Type.Null()], { description: 'The account whose it is; null: the operator.' }),
    account_name: nullableText,
    id: Type.Union([Type.String(), Type.Null()], {
      description: 'Of a receiver of an account: to test and to remove it. Of its webhook: webhook.',
    }),
    address: Type.Union([Type.String(), Type.Null()], {
      description: 'What may be shown of where it leads: of a Slack channel only the host.',
    }),
    types: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'What it gets; null: all.' }),
    waiting: Type.Integer({ description: 'Deliveries that have not ended.' }),
    last_delivered_at: nullableText,
    last_failed_at: nullableText,
    last_error: nullableText,
  },
  { title: 'AlertReceiver' },
);

export const ReceiverQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 500, description: 'Accounts with receivers on a page. Default 100.' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'The next_cursor of the page before.' }),
    ),
  },
  { title: 'AlertReceiverQuery', ...closed },
);

export const AlertReceiverList = Type.Object(
  {
    object: Type.Literal('list'),
    enabled: Type.Boolean({ description: 'Whether the config file has a section alerts.' }),
    levels: Type.Array(Type.Integer(), { description: 'Percents of a balance, cap or budget that are told.' }),
    credits_left: Type.Array(Type.Number()),
    tokens_left: Type.Array(Type.Integer()),
    smtp: Type.Union(
      [
        Type.Object({ host: Type.String(), port: Type.Integer(), tls: Type.String(), from: Type.String() }),
        Type.Null(),
      ],
      { description: 'How mail leaves; null: it does not, and nobody gets any.' },
    ),
    data: Type.Array(AlertReceiver, { description: 'Those of the config file, on the first page, and of accounts.' }),
    next_cursor: nextCursor,
  },
  { title: 'AlertReceiverList' },
);

export const AccountReceiverList = Type.Object(
  {
    object: Type.Literal('list'),
    may_add: Type.Array(Type.Enum([...RECEIVER_KINDS]), {
      description: 'What can be added: e-mail by operators, where the config file has alerts.smtp.',
    }),
    data: Type.Array(AlertReceiver),
  },
  { title: 'AccountReceiverList' },
);

export const ReceiverBody = Type.Object(
  {
    kind: Type.Enum([...RECEIVER_KINDS]),
    address: Type.String({
      minLength: 1,
      maxLength: 2_000,
      expected: 'an https address, or an e-mail address',
      description: 'slack: the incoming webhook of a channel, by https. email: one address.',
    }),
  },
  { title: 'NewAccountReceiver', ...closed },
);

export const AddedReceiver = Type.Object(
  { account: Type.String(), id: Type.String(), kind: Type.Enum([...RECEIVER_KINDS]), address: nullableText },
  { title: 'AccountReceiver' },
);

export const RemovedReceiver = Type.Object(
  { account: Type.String(), id: Type.String(), removed: Type.Literal(true) },
  { title: 'RemovedReceiver' },
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
export type AlertReceiverView = View<typeof AlertReceiver>;
