import { Type } from '../../lib/schema-builder.ts';
import { ROLES } from '../../operators/port.ts';
import type { View } from '../http/view.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);
const Time = Type.Optional(
  Type.String({ expected: 'a time like 2030-01-31T12:00:00Z or a date like 2030-01-31 (UTC)' }),
);

export const AuditTrailQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
    cursor: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', expected: 'the next_cursor of the page before' })),
    actor: Type.Optional(Type.String({ description: 'The id of an operator.' })),
    action: Type.Optional(Type.String({ description: 'For example key.create.' })),
    target: Type.Optional(Type.String({ description: 'For example the id of a key.' })),
    outcome: Type.Optional(Type.Enum(['done', 'refused', 'unknown'])),
    since: Time,
    until: Time,
  },
  { title: 'AuditTrailQuery', additionalProperties: false },
);

const AuditTrailEntry = Type.Object(
  {
    number: Type.Integer({ description: 'Grows with every entry.' }),
    at: Type.String(),
    actor: Type.Union([
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        role: Type.Enum([...ROLES]),
        via: Type.Enum(['token', 'session', 'secret', 'socket', 'command', 'process']),
      }),
      Type.Null(),
    ]),
    action: Type.String(),
    target: nullableText,
    outcome: Type.Enum(['done', 'refused', 'unknown'], {
      description: 'unknown: the store failed; look up whether the change was made.',
    }),
    reason: nullableText,
    before: Type.Unknown({ description: 'What differed before; null where there was nothing.' }),
    after: Type.Unknown({ description: 'What it was changed to; null where nothing was changed.' }),
    address: nullableText,
    user_agent: nullableText,
    request_id: nullableText,
  },
  { title: 'AuditTrailEntry' },
);

export const AuditTrailPage = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(AuditTrailEntry),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'For the next page; null on the last one.' }),
  },
  { title: 'AuditTrailPage' },
);

export type AuditTrailEntryView = View<typeof AuditTrailEntry>;
