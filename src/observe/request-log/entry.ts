/** The row of a request: a few columns to search by, and everything else as JSON. */
import type { RequestRecord } from '../../core/request-record.ts';
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
export function entryIn(row: Readonly<Record<string, unknown>>): RequestEntry {
  return {
    id: String(row.id),
    receivedAtMs: Number(row.received_at_ms),
    keyId: textIn(row.key_id),
    model: textIn(row.model),
    status: row.status === null ? null : Number(row.status),
    condition: textIn(row.condition),
    durationMs: Number(row.duration_ms),
    costNanos: row.cost_nanos === null ? null : BigInt(String(row.cost_nanos)),
    detail: String(row.detail),
  };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
