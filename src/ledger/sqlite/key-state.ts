/** Keys with their holds, and the accounts above them: read from rows, changed by operations, written back before the commit. */
import { AMOUNT_MAX } from '../../core/money.ts';
import type { CompactingMap } from '../../lib/compacting-map.ts';
import { amount, amountOrNull, integer, type Row, text, textOrNull } from '../../storage/columns.ts';
import { type KeyTotals, keyTimeMs, rollOver } from '../rules/key-totals.ts';
import { byExpiry, type Promotion } from '../rules/promotions.ts';
import { type NodeTotals, rollOverNode } from '../rules/tree.ts';
import type { RateWindow } from './rate-window.ts';
import type { ColdStatements } from './statements.ts';

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

export interface AccountNode extends NodeTotals {
  persistedReserved: bigint;
  persistedReservedTokens: bigint;
  persistedHolds: number;
  readonly window: RateWindow;
  /** Of a root: those of which something is left, in the order of their expiry; null where there is none. */
  promotions: readonly Promotion[] | null;
  dirty: boolean;
}

export interface Tree {
  readonly rootId: string;
  readonly nodes: Map<string, AccountNode>;
  /** The keys that hold something, by their ids. */
  readonly holding: CompactingMap<string, KeyState>;
}

/** The accounts above a key, from the nearest to the root. */
export interface Path {
  readonly tree: Tree;
  readonly nodes: readonly AccountNode[];
  readonly root: AccountNode;
  /** As holds and entries carry it. */
  readonly text: string;
}

/**
 * What is reserved for a hold on its path changes in memory, where every hold counts: by all of it, or by the difference to
 * before.
 */
export function reserve(
  state: KeyState,
  nodes: readonly AccountNode[],
  amount: bigint,
  tokens: bigint,
  holds: 0 | 1 | -1,
): void {
  state.reserved += amount;
  state.liveHolds += holds;
  for (const node of nodes) {
    if (state.key.mode === 'credit') node.reserved += amount;
    node.reservedTokens += tokens;
    node.liveHolds += holds;
  }
}

/** Books a charge on the path of its hold, which the caller has released; returns when it counts. */
export function bookCharge(
  state: KeyState,
  nodes: readonly AccountNode[],
  charged: bigint,
  tokens: bigint,
  nowMs: number,
): number {
  const credit = state.key.mode === 'credit';
  let atMs = keyTimeMs(state, nowMs);
  for (const node of nodes) {
    atMs = Math.max(atMs, node.creditStartMs, node.tokensStartMs);
    if (credit) {
      node.used += charged;
      node.creditUsed += charged;
    }
    node.tokensUsed += tokens;
  }
  // What counts against a budget, or against the cap that a key of an account may have.
  if (!credit || state.key.accountId !== null) state.periodUsed += charged;
  if (credit) {
    state.used += charged;
    state.daySpend += charged;
    state.lastCost = charged;
  }
  return atMs;
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
