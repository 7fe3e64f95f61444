/**
 * Whether a path carries a hold: the key, the account that it belongs to, and so on up to the root, which pays. The path of a
 * key without an account is the key alone, which pays for itself. Every limit of every level is asked, from the key upwards;
 * the first that refuses decides. Pure: decides, moves nothing.
 */
import { AMOUNT_MAX } from '../../core/money.ts';
import { type Period, periodEndMs } from '../../core/period.ts';
import {
  BUDGET_REST_TOKENS,
  type ByLevel,
  NO_PERIOD_RETRY_MS,
  type PathFigures,
  type Summary,
  type Unit,
} from '../port.ts';
import { type KeyTotals, summaryOf } from './key-totals.ts';
import type { PayerTotals } from './money-rules.ts';
import { type NodeTotals, rollOverNode } from './tree.ts';

/** One limit of one level. */
export interface Level<N extends NodeTotals = NodeTotals> {
  /** Null for the key itself. */
  readonly node: N | null;
  readonly unit: Unit;
  /** What it could carry if nothing were held. */
  readonly available: bigint;
  readonly reserved: bigint;
  /** Of a cap or budget; null for a balance. */
  readonly period: Period | null;
  /** Whether somebody has set it; otherwise it is only what the sums can hold. */
  readonly set: boolean;
}

/** The periods of the key and of the accounts above it must have been rolled over; `path` is empty for a key without one. */
export function levelsOf<N extends NodeTotals>(totals: KeyTotals, path: readonly N[]): readonly Level<N>[] {
  const { key, reserved } = totals;
  const credit = key.mode === 'credit';
  if (credit && path.length === 0) return [balanceLevel<N>(null, totals)];
  const levels: Level<N>[] = [];
  const own = credit ? key.cap : (key.budget ?? AMOUNT_MAX);
  if (own !== null) {
    levels.push({
      node: null,
      unit: credit ? 'credit' : 'tokens',
      available: own - totals.periodUsed,
      reserved,
      period: key.period,
      set: credit || key.budget !== null,
    });
  }
  if (credit) {
    // What the key may spend in all, which must fit into its sums.
    const available = AMOUNT_MAX - totals.used;
    levels.push({ node: null, unit: 'credit', available, reserved, period: 'none', set: false });
  }
  for (const node of path) {
    const { creditCap, tokenCap, parentId } = node.account;
    if (credit && creditCap !== null) {
      const available = creditCap.amount - node.creditUsed;
      levels.push({ node, unit: 'credit', available, reserved: node.reserved, period: creditCap.period, set: true });
    }
    levels.push({
      node,
      unit: 'tokens',
      available: (tokenCap?.amount ?? AMOUNT_MAX) - node.tokensUsed,
      reserved: node.reservedTokens,
      period: tokenCap?.period ?? 'none',
      set: tokenCap !== null,
    });
    if (credit && parentId === null) levels.push(balanceLevel(node, node));
  }
  return levels;
}

/** Whoever pays: a root, or a key without an account. */
function balanceLevel<N extends NodeTotals>(node: N | null, { purchased, used, reserved }: PayerTotals): Level<N> {
  return { node, unit: 'credit', available: purchased - used, reserved, period: null, set: true };
}

/** What a key and its levels show; the periods must have been rolled over. */
function pathFigures(totals: KeyTotals, path: readonly NodeTotals[]): PathFigures {
  const unit: Unit = totals.key.mode === 'credit' ? 'credit' : 'tokens';
  let least: { readonly left: bigint; readonly account: boolean } | null = null;
  for (const level of levelsOf(totals, path)) {
    const left = level.available - level.reserved;
    if (!level.set || level.unit !== unit || (least !== null && left >= least.left)) continue;
    least = { left, account: level.node !== null };
  }
  const root = path.at(-1);
  return {
    purchased: root?.purchased ?? 0n,
    used: root?.used ?? 0n,
    reserved: root?.reserved ?? 0n,
    liveHolds: root?.liveHolds ?? 0,
    remaining: least === null ? null : least.left < 0n ? 0n : least.left,
    accountBinds: least?.account ?? false,
  };
}

/** Amounts in the key's unit, and in tokens; the same for a token-budget key. */
interface WantedHold {
  readonly amount: bigint;
  readonly amountMin: bigint;
  readonly tokens: bigint;
  readonly tokensMin: bigint;
}

export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

export function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** What must be free for a hold that leaves room for others of its size. */
function withRoom(held: bigint, room: number): bigint {
  return held * BigInt(1 + room);
}

/** What a hold can be raised to where so much is free; it never shrinks. */
function raisedWithin(held: bigint, wanted: bigint, free: bigint): bigint {
  return held + smaller(wanted - held, larger(free, 0n));
}

type PathDecision<N extends NodeTotals = NodeTotals> =
  | { readonly kind: 'carries'; readonly amount: bigint; readonly tokens: bigint }
  | { readonly kind: 'insufficient'; readonly by: Level<N> }
  | { readonly kind: 'temporarily_held'; readonly by: Level<N> }
  | { readonly kind: 'limit_reached'; readonly by: Level<N> };

export function decideOnPath<N extends NodeTotals>(
  levels: readonly Level<N>[],
  wanted: WantedHold & { readonly room: number },
): PathDecision<N> {
  let { amount, tokens } = wanted;
  let oneUnit = true;
  for (const by of levels) {
    const { unit, available, reserved, period } = by;
    const inTokens = unit === 'tokens';
    if (!inTokens) oneUnit = false;
    const most = inTokens ? tokens : amount;
    const least = inTokens ? wanted.tokensMin : wanted.amountMin;
    const rest = inTokens && available < least && available < BUDGET_REST_TOKENS;
    if (period !== null && (available <= 0n || rest)) return { kind: 'limit_reached', by };
    if (available < least) return { kind: 'insufficient', by };
    const held = smaller(most, available);
    if (available - reserved < withRoom(held, wanted.room)) return { kind: 'temporarily_held', by };
    if (inTokens) tokens = held;
    else amount = held;
  }
  return { kind: 'carries', amount: oneUnit ? tokens : amount, tokens };
}

type ExtensionDecision<N extends NodeTotals = NodeTotals> =
  | { readonly kind: 'carries'; readonly amount: bigint; readonly tokens: bigint }
  | { readonly kind: 'insufficient' }
  /** Only other holds are in the way, at this level. */
  | { readonly kind: 'held'; readonly by: Level<N> };

/** What a live hold can be raised to; `wanted` is in all, its most not less than what is held. */
export function decideExtensionOnPath<N extends NodeTotals>(
  levels: readonly Level<N>[],
  held: { readonly amount: bigint; readonly tokens: bigint },
  wanted: WantedHold,
): ExtensionDecision<N> {
  let { amount, tokens } = wanted;
  let oneUnit = true;
  for (const by of levels) {
    const inTokens = by.unit === 'tokens';
    if (!inTokens) oneUnit = false;
    const before = inTokens ? held.tokens : held.amount;
    const most = inTokens ? tokens : amount;
    const least = inTokens ? wanted.tokensMin : wanted.amountMin;
    if (most === before) continue;
    const raised = raisedWithin(before, most, by.available - by.reserved);
    if (raised < least) return by.available < least ? { kind: 'insufficient' } : { kind: 'held', by };
    if (inTokens) tokens = raised;
    else amount = raised;
  }
  return { kind: 'carries', amount: oneUnit ? larger(held.amount, smaller(amount, tokens)) : amount, tokens };
}

/** `atMs`: never before the period that the level is counted in. */
export function untilRenewedMs({ period }: Level, atMs: number, nowMs: number): number {
  const endMs = periodEndMs(period ?? 'none', atMs);
  return endMs === null ? NO_PERIOD_RETRY_MS : endMs - nowMs;
}

export function byLevel({ node, unit }: Level): Required<ByLevel> {
  return { level: { account: node !== null, unit } };
}

/** With what the levels above the key leave it; `path` is empty for a key without an account. */
export function summaryOnPath(totals: KeyTotals, path: readonly NodeTotals[], nowMs: number): Summary {
  const summary = summaryOf(totals, nowMs);
  if (path.length === 0) return summary;
  for (const node of path) rollOverNode(node, nowMs);
  return { ...summary, path: pathFigures(totals, path) };
}
