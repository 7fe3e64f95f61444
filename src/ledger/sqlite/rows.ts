/** Holds, promotions and the totals of keys as rows of the file. */
import type { Mode } from '../../core/key.ts';
import type { TokenCounts } from '../../core/usage.ts';
import { amountOrNull, type Row, textOrNull } from '../../storage/columns.ts';
import type { Hold, HoldMark } from '../engine/key-state.ts';
import type { MarkedCall } from '../port.ts';
import type { Promotion } from '../rules/promotions.ts';
import { holdFrom, promotionsFrom } from '../rules/row-mapping.ts';
import type { ColdStatements } from './statements.ts';
import type { CachedKey } from './tree-cache.ts';

export function readHold(row: Row, mode: Mode): Hold {
  const mark = readMark(amountOrNull(row, 'mark_charge'), textOrNull(row, 'mark_detail'));
  return holdFrom(row, mode, textOrNull(row, 'path'), mark);
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
  const told = call && {
    ...call,
    costNanos: String(call.costNanos),
    providerCostNanos: String(call.providerCostNanos),
  };
  return JSON.stringify({ number, tokens, call: told, durationMs });
}

export function readPromotions(sql: ColdStatements, payerId: string): readonly Promotion[] | null {
  return promotionsFrom(
    sql('SELECT id, remaining, expires_at_ms FROM promotions WHERE node_id = ? AND remaining > 0').all(payerId),
  );
}

/** What `saveTotals` takes. */
export function totalsRow(state: CachedKey) {
  return [
    // The root has paid for what a key of an account has used and holds.
    state.path === null || state.key.mode !== 'credit' ? state.purchased : state.used + state.persistedReserved,
    state.used,
    state.persistedReserved,
    state.persistedHolds,
    state.periodStartMs,
    state.periodUsed,
    state.dayStartMs,
    state.daySpend,
    state.lastCost,
    state.inputTokens,
    state.outputTokens,
    state.requests,
    state.holdMs,
    state.key.id,
  ];
}
