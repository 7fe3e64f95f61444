/** Holds and promotions as rows of the file. */
import type { Mode } from '../../core/key.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { amount, amountOrNull, integer, type Row, text, textOrNull } from '../../storage/columns.ts';
import type { Hold, HoldMark } from '../engine/key-state.ts';
import type { MarkedCall } from '../port.ts';
import { byExpiry, type Promotion } from '../rules/promotions.ts';
import type { ColdStatements } from './statements.ts';

export function readHold(row: Row, mode: Mode): Hold {
  return {
    keyId: text(row, 'key_id'),
    mode,
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    amount: amount(row, 'amount'),
    tokens: amount(row, 'tokens'),
    path: textOrNull(row, 'path'),
    waiting: integer(row, 'waiting') === 1,
    heldAtMs: integer(row, 'held_at_ms'),
    steadyAtMs: integer(row, 'held_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    claimName: textOrNull(row, 'claim_name'),
    mark: readMark(amountOrNull(row, 'mark_charge'), textOrNull(row, 'mark_detail')),
    persisted: true,
  };
}

interface MarkDetail {
  /** Absent in marks of the first releases, as is the duration. */
  readonly number?: number;
  readonly tokens: TokenCounts;
  readonly call:
    | (Omit<MarkedCall, 'costNanos' | 'providerCostNanos'> & { costNanos: string; providerCostNanos: string })
    | null;
  readonly durationMs?: number;
}

function readMark(charge: bigint | null, detail: string | null): HoldMark | null {
  if (charge === null || detail === null) return null;
  // Written by `markText`.
  const { number = 0, tokens, call, durationMs = 0 } = JSON.parse(detail) as MarkDetail;
  const known = call && {
    ...call,
    costNanos: BigInt(call.costNanos),
    providerCostNanos: BigInt(call.providerCostNanos),
  };
  return { number, charge, tokens, call: known, durationMs };
}

/** With amounts as text. */
export function markText({ number, tokens, call, durationMs }: HoldMark): string {
  return JSON.stringify({ number, tokens, call, durationMs }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** The promotions of which something is left, in the order in which they expire; null where there is none. */
export function readPromotions(sql: ColdStatements, payerId: string): Promotion[] | null {
  const rows = sql('SELECT id, remaining, expires_at_ms FROM promotions WHERE node_id = ? AND remaining > 0').all(
    payerId,
  );
  if (rows.length === 0) return null;
  return rows
    .map((row) => ({
      id: text(row, 'id'),
      expiresAtMs: integer(row, 'expires_at_ms'),
      remaining: amount(row, 'remaining'),
    }))
    .sort(byExpiry);
}
