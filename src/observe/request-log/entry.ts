/** The row of a request: a few columns to search by, and everything else as JSON. */
import type { RequestRecord } from '../../core/request-record.ts';
import { amountOrNull, integer, integerOrNull, type Row, text, textOrNull } from '../../storage/columns.ts';
import { wellFormed } from './layout.ts';
import { RECORD } from './record.ts';

export interface RequestEntry {
  readonly id: string;
  readonly receivedAtMs: number;
  /** Null: one of the sampled requests without a known key, or the store could not be asked about it. */
  readonly keyId: string | null;
  /** As asked for; it may be in no catalog. */
  readonly model: string | null;
  readonly status: number | null;
  readonly condition: string | null;
  readonly durationMs: number;
  readonly costNanos: bigint | null;
  readonly detail: string;
}

/** Its columns, with their types in PostgreSQL. */
export const COLUMNS: readonly { readonly name: string; readonly type: string; readonly of: keyof RequestEntry }[] = [
  { name: 'id', type: 'text', of: 'id' },
  { name: 'received_at_ms', type: 'bigint', of: 'receivedAtMs' },
  { name: 'key_id', type: 'text', of: 'keyId' },
  { name: 'model', type: 'text', of: 'model' },
  { name: 'status', type: 'integer', of: 'status' },
  { name: 'condition', type: 'text', of: 'condition' },
  { name: 'duration_ms', type: 'bigint', of: 'durationMs' },
  { name: 'cost_nanos', type: 'bigint', of: 'costNanos' },
  { name: 'detail', type: 'text', of: 'detail' },
];

export function entryOf(record: RequestRecord): RequestEntry {
  const { endedAt, receivedAt } = record;
  return {
    id: record.requestId,
    receivedAtMs: record.receivedAtMs,
    keyId: record.keyId,
    model: record.askedModel === null ? null : wellFormed(record.askedModel),
    status: record.status,
    condition: record.condition,
    durationMs: Math.round((endedAt ?? receivedAt) - receivedAt),
    costNanos: record.costNanos,
    detail: JSON.stringify(RECORD.write(record, receivedAt)),
  };
}

/** A row of either store. */
export function entryIn(row: Row): RequestEntry {
  return {
    id: text(row, 'id'),
    receivedAtMs: integer(row, 'received_at_ms'),
    keyId: textOrNull(row, 'key_id'),
    model: textOrNull(row, 'model'),
    status: integerOrNull(row, 'status'),
    condition: textOrNull(row, 'condition'),
    durationMs: integer(row, 'duration_ms'),
    costNanos: amountOrNull(row, 'cost_nanos'),
    detail: text(row, 'detail'),
  };
}
