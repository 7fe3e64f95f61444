/** A key with its totals: read from a row, changed by operations, written back before the commit. */
import { AMOUNT_MAX } from '../../core/money.ts';
import type { CompactingMap } from '../../lib/compacting-map.ts';
import { amount, amountOrNull, integer, type Row, text, textOrNull } from '../../storage/columns.ts';
import { type KeyTotals, rollOver } from '../rules/key-totals.ts';
import type { Promotion } from '../rules/promotions.ts';
import { rollOverNode } from '../rules/tree.ts';
import type { RateWindow } from './rate-window.ts';
import type { Path } from './tree-cache.ts';

export interface Hold {
  readonly keyId: string;
  readonly id: string;
  readonly owner: string;
  amount: bigint;
  /** For a key of an account, and 0 otherwise: as its accounts count it. */
  tokens: bigint;
  /** The accounts that it is reserved at, as `Path.text` has them; null for a key without an account. */
  readonly path: string | null;
  /** Whether its last extension failed only because of what other holds reserve. */
  waiting: boolean;
  readonly heldAtMs: number;
  /** The same by the time that never jumps; where it was read from the file, as good as that is known. */
  readonly steadyAtMs: number;
  readonly expiresAtMs: number;
  readonly claimName: string | null;
  /** Of the newest mark. */
  markNumber: number;
  markCharge: bigint | null;
  markDetail: string | null;
  /** Whether the file has it. */
  persisted: boolean;
}

/** The totals count every hold; the file's totals only those that it has. */
export interface KeyState extends KeyTotals {
  /** Live ones by id, in the order of their admission. */
  readonly holds: CompactingMap<string, Hold>;
  persistedReserved: bigint;
  persistedHolds: number;
  readonly window: RateWindow;
  /** Null for a key without an account. */
  path: Path | null;
  /** Those of which something is left, in the order of their expiry; null where there is none. */
  promotions: readonly Promotion[] | null;
  /** The greatest id of a hold that has ended. Ids begin with the time, so that a new hold's is almost always greater. */
  newestEnded: string;
  dirty: boolean;
}

/** Adds a charge to the totals. The caller has released the hold that covers it. */
export function bookCharge(totals: KeyTotals, charged: bigint): void {
  if (totals.key.mode === 'token_budget') {
    totals.periodUsed += charged;
    return;
  }
  totals.used += charged;
  totals.daySpend += charged;
  totals.lastCost = charged;
  // Of a key that may have a cap.
  if (totals.key.accountId !== null) totals.periodUsed += charged;
}

/** For totals that only inform: they stop at what a column can hold instead of failing a settlement. */
export function saturate(value: bigint): bigint {
  return value > AMOUNT_MAX ? AMOUNT_MAX : value;
}

/** The key, and every account above it. */
export function rollOverAll(state: KeyState, nowMs: number): void {
  rollOver(state, nowMs);
  if (state.path !== null) for (const node of state.path.nodes) rollOverNode(node, nowMs);
}

/** Written by `mark`; holds of older releases have none. */
function markNumberIn(markDetail: string | null): number {
  return markDetail === null ? 0 : ((JSON.parse(markDetail) as { number?: number }).number ?? 0);
}

export function readHold(row: Row): Hold {
  return {
    keyId: text(row, 'key_id'),
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
    markNumber: markNumberIn(textOrNull(row, 'mark_detail')),
    markCharge: amountOrNull(row, 'mark_charge'),
    markDetail: textOrNull(row, 'mark_detail'),
    persisted: true,
  };
}
