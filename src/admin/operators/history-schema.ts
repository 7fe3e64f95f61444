/** What was done to a key, an account or a request, as the API shows it with the object. */
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);

const HistoryEvent = Type.Object(
  {
    at: Type.String(),
    action: Type.String({ description: 'As the audit trail names it: key.change, account.credit, request.refund.' }),
    actor: Type.Union([Type.String(), Type.Null()], {
      description: 'The name of who did it; null for an account-admin.',
    }),
    amount: Type.Union([Type.Number(), Type.Null()], { description: 'Of what was booked, in credits with its sign.' }),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'The note or reason that was given.' }),
    request_id: Type.Union([Type.String(), Type.Null()], { description: 'The request that was refunded.' }),
    changes: Type.Array(Type.Object({ field: Type.String(), from: nullableText, to: nullableText }), {
      description: 'What was changed, as JSON text; null where there was nothing.',
    }),
  },
  { title: 'HistoryEvent' },
);

export const HistoryList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(HistoryEvent) },
  { title: 'HistoryList', description: 'Newest first, the last 200; the audit trail has all.' },
);

export const RequestHistory = Type.Object(
  {
    refunded: Type.Number({ description: 'The sum of its refunds, in credits.' }),
    refundable: Type.Number({ description: 'What is left to refund of what it was charged, in credits.' }),
    events: Type.Array(HistoryEvent),
  },
  { title: 'RequestHistory', description: 'What was done about the request since, newest first.' },
);

export type HistoryEventView = View<typeof HistoryEvent>;
export type HistoryView = View<typeof HistoryList>;
export type RequestHistoryView = View<typeof RequestHistory>;
