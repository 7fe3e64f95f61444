/** Whether an account, or the path of a key of an account, carries a hold. Pure: decides, moves nothing. */
import { AMOUNT_MAX } from '../../core/money.ts';
import { periodEndMs } from '../../core/period.ts';
import {
  BUDGET_REST_TOKENS,
  type ByLevel,
  type ExtendOutcome,
  type ExtendRequest,
  type HoldRequest,
  NO_PERIOD_RETRY_MS,
} from '../port.ts';
import { keyTimeMs } from '../rules/key-totals.ts';
import {
  byLevel,
  decideAlong,
  decideExtensionAlong,
  type Level,
  larger,
  levelsOf,
  raisedWithin,
  smaller,
  untilRenewedMs,
  withRoom,
} from '../rules/levels.ts';
import type { Hold, KeyState } from './key-cache.ts';
import { type AccountNode, nodesOf, type Path } from './tree-cache.ts';

export type BalanceDecision =
  | { readonly kind: 'carries'; readonly amount: bigint; readonly tokens: bigint }
  | ({ readonly kind: 'insufficient'; readonly available: bigint } & ByLevel)
  | ({ readonly kind: 'temporarily_held'; readonly retryAfterMs: number } & ByLevel)
  | ({ readonly kind: 'limit_reached'; readonly retryAfterMs: number } & ByLevel);

const RETRY_MS_MIN = 1_000;

/** What the account could carry if nothing were held: the balance, or what is left of the budget in this period. */
function ownMeans(state: KeyState): bigint {
  const { key } = state;
  if (key.mode === 'credit') return state.purchased - state.used;
  return (key.budget ?? AMOUNT_MAX) - state.periodUsed;
}

/** The account's period must have been rolled over to `nowMs`. */
export function decideHold(state: KeyState, hold: HoldRequest, nowMs: number): BalanceDecision {
  const { key } = state;
  const { amount, amountMin, room = 0 } = hold;
  const means = ownMeans(state);
  if (key.mode === 'token_budget' && (means <= 0n || (means < amountMin && means < BUDGET_REST_TOKENS))) {
    const endMs = periodEndMs(key.period, keyTimeMs(state, nowMs));
    return { kind: 'limit_reached', retryAfterMs: endMs === null ? NO_PERIOD_RETRY_MS : endMs - nowMs };
  }
  if (means < amountMin) return { kind: 'insufficient', available: means };
  const held = amount < means ? amount : means;
  if (means - state.reserved < withRoom(held, room))
    return { kind: 'temporarily_held', retryAfterMs: untilFreeMs(state, nowMs) };
  return { kind: 'carries', amount: held, tokens: 0n };
}

/** As `decideHold`, for a key of an account; its accounts must have been rolled over too. */
export function decideHoldAlong(state: KeyState, path: Path, hold: HoldRequest, nowMs: number): BalanceDecision {
  const { amount, amountMin } = hold;
  const inTokens = state.key.mode === 'token_budget';
  const tokens = inTokens ? amount : (hold.tokens ?? 0n);
  const tokensMin = inTokens ? amountMin : (hold.tokensMin ?? tokens);
  const decision = decideAlong(levelsOf(state, path.nodes), {
    amount,
    amountMin,
    tokens,
    tokensMin,
    room: hold.room ?? 0,
  });
  if (decision.kind === 'carries') return decision;
  const { kind, by } = decision;
  switch (kind) {
    case 'insufficient':
      return { kind, available: by.means, ...byLevel(by) };
    case 'temporarily_held':
      return { kind, retryAfterMs: untilFreeAtMs(state, path, by, nowMs), ...byLevel(by) };
    case 'limit_reached':
      return { kind, retryAfterMs: untilRenewedMs(by, levelTimeMs(state, by, nowMs), nowMs), ...byLevel(by) };
  }
}

/** Never before the period that the level is counted in. */
function levelTimeMs(state: KeyState, { node, unit }: Level, nowMs: number): number {
  if (node === null) return keyTimeMs(state, nowMs);
  return Math.max(nowMs, unit === 'credit' ? node.creditStartMs : node.tokensStartMs);
}

/** Whether a live hold can be raised. */
export function decideExtension(state: KeyState, hold: Hold, { amount, amountMin }: ExtendRequest): ExtendOutcome {
  const held = hold.amount;
  if (amount <= held) return { kind: 'extended', held };
  const means = ownMeans(state);
  const raised = raisedWithin(held, amount, means - state.reserved);
  const least = smaller(amountMin ?? amount, amount);
  if (raised >= least) return { kind: 'extended', held: raised };
  if (means < least) return { kind: 'insufficient' };
  return { kind: mustYield(state.holds.values(), hold) ? 'insufficient' : 'temporarily_held' };
}

/** As `decideExtension`, for a key of an account: at every level, or not at all. */
export function decideExtensionOn(state: KeyState, path: Path, hold: Hold, request: ExtendRequest): ExtendOutcome {
  const { amount, amountMin = amount } = request;
  const credit = state.key.mode === 'credit';
  const tokens = credit ? (request.tokens ?? 0n) : amount;
  const tokensMin = credit ? (request.tokensMin ?? tokens) : amountMin;
  const decision = decideExtensionAlong(levelsOf(state, path.nodes), hold, {
    amount: larger(amount, hold.amount),
    amountMin: smaller(amountMin, amount),
    tokens: larger(tokens, hold.tokens),
    tokensMin: smaller(tokensMin, tokens),
  });
  if (decision.kind === 'carries') return { kind: 'extended', held: decision.amount, heldTokens: decision.tokens };
  if (decision.kind === 'insufficient') return { kind: 'insufficient' };
  return { kind: mustYield(holdsAt(state, path, decision.by), hold) ? 'insufficient' : 'temporarily_held' };
}

/** The holds that a level of a path counts. */
function* holdsAt(state: KeyState, path: Path, { node }: Level<AccountNode>): Generator<Hold> {
  if (node === null) {
    yield* state.holds.values();
    return;
  }
  for (const other of path.tree.holding.values()) {
    for (const hold of other.holds.values()) if (nodesOf(other, hold).includes(node)) yield hold;
  }
}

function untilFreeAtMs(state: KeyState, path: Path, level: Level<AccountNode>, nowMs: number): number {
  let oldestAtMs = nowMs;
  for (const { heldAtMs } of holdsAt(state, path, level)) oldestAtMs = Math.min(oldestAtMs, heldAtMs);
  return Math.max(RETRY_MS_MIN, (level.node ?? state).holdMs - (nowMs - oldestAtMs));
}

/** Where all holds of a key or an account wait for each other, none would ever end: the youngest has to. */
function mustYield(holds: Iterable<Hold>, hold: Hold): boolean {
  for (const other of holds) {
    if (other !== hold && (!other.waiting || isYounger(other, hold))) return false;
  }
  return true;
}

function isYounger(one: Hold, other: Hold): boolean {
  return one.heldAtMs === other.heldAtMs ? one.id > other.id : one.heldAtMs > other.heldAtMs;
}

/** When the oldest live hold is likely to end, by how long holds of this key lived so far. */
function untilFreeMs(state: KeyState, nowMs: number): number {
  const [oldest] = state.holds.values();
  if (oldest === undefined) return RETRY_MS_MIN;
  return Math.max(RETRY_MS_MIN, state.holdMs - (nowMs - oldest.heldAtMs));
}
