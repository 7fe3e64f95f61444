/** A request of the log as the operator sees it: what its row has in columns, and its record. */
import type { Static } from 'typebox';
import { Type } from '../../lib/schema-builder.ts';
import type { RequestEntry } from './entry.ts';
import { type ATTEMPT, RECORD } from './record.ts';

const NullableText = Type.Union([Type.String(), Type.Null()]);

export const LoggedRequest = Type.Object(
  {
    id: Type.String(),
    received_at: Type.String(),
    key_id: NullableText,
    model: NullableText,
    status: Type.Union([Type.Integer(), Type.Null()]),
    condition: NullableText,
    duration_ms: Type.Number(),
    cost_nanos: NullableText,
    ...RECORD.schema.properties,
  },
  { title: 'Request', description: 'Times are milliseconds since it was received.' },
);

export type RequestView = Readonly<Static<typeof LoggedRequest>>;
export type AttemptView = Readonly<Static<typeof ATTEMPT.schema>>;

export function viewOf(entry: RequestEntry): RequestView {
  return {
    id: entry.id,
    received_at: new Date(entry.receivedAtMs).toISOString(),
    key_id: entry.keyId,
    model: entry.model,
    status: entry.status,
    condition: entry.condition,
    duration_ms: entry.durationMs,
    cost_nanos: entry.costNanos === null ? null : String(entry.costNanos),
    ...RECORD.read(JSON.parse(entry.detail)),
  };
}
