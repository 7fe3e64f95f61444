/** Whether the path of a key carries a hold. Pure: decides, moves nothing. */
import type { ByLevel, ExtendOutcome, ExtendRequest, HoldRequest } from '../port.ts';
import { keyTimeMs } from '../rules/key-totals.ts';
import {
  byLevel,
  decideExtensionOnPath,
  decideOnPath,
  type Level,
  larger,
  levelsOf,
  smaller,
  untilRenewedMs,
} from '../rules/levels.ts';
import { type AccountNode, type Hold, type KeyState, nodesAbove } from './key-state.ts';
import type { WorkingSet } from './working-set.ts';

type BalanceDecision =
  | { readonly kind: 'carries'; readonly amount: bigint; readonly tokens: bigint }
  | ({ readonly kind: 'insufficient'; readonly available: bigint } & ByLevel)
  | ({ readonly kind: 'temporarily_held'; readonly retryAfterMs: number } & ByLevel)
  | ({ readonly kind: 'limit_reached'; readonly available: bigint; readonly retryAfterMs: number } & ByLevel);

const RETRY_MS_MIN = 1_000;

/** The periods of the key and of its accounts must have been rolled over to `nowMs`. */
export function decideHold(keys: WorkingSet, state: KeyState, hold: HoldRequest): BalanceDecision {
  const { nowMs } = keys;
  const { amount, amountMin, room = 0 } = hold;
  const inTokens = state.key.mode === 'token_budget';
  const tokens = inTokens ? amount : (hold.tokens ?? 0n);
  const tokensMin = inTokens ? amountMin : (hold.tokensMin ?? tokens);
  const nodes = nodesAbove(state);
  const decision = decideOnPath(levelsOf(state, nodes), { amount, amountMin, tokens, tokensMin, room });
  if (decision.kind === 'carries') return decision;
  const { kind, by } = decision;
  // A key without an account has no level that could be confused with another.
  const level = nodes.length === 0 ? null : byLevel(by);
  switch (kind) {
    case 'insufficient':
      return { kind, available: by.available, ...level };
    case 'temporarily_held':
      return { kind, retryAfterMs: untilFreeMs(keys, state, by), ...level };
    case 'limit_reached':
      return {
        kind,
        available: by.available,
        retryAfterMs: untilRenewedMs(by, levelTimeMs(state, by, nowMs), nowMs),
        ...level,
      };
  }
}

/** Never before the period that the level is counted in. */
function levelTimeMs(state: KeyState, { node, unit }: Level, nowMs: number): number {
  if (node === null) return keyTimeMs(state, nowMs);
  return Math.max(nowMs, unit === 'credit' ? node.creditStartMs : node.tokensStartMs);
}

/** Whether a live hold can be raised: at every level, or not at all. */
export function decideExtension(keys: WorkingSet, state: KeyState, hold: Hold, request: ExtendRequest): ExtendOutcome {
  const { amount, amountMin = amount } = request;
  const credit = state.key.mode === 'credit';
  const tokens = credit ? (request.tokens ?? 0n) : amount;
  const tokensMin = credit ? (request.tokensMin ?? tokens) : amountMin;
  const held = { amount: hold.amount, tokens: credit ? hold.tokens : hold.amount };
  const decision = decideExtensionOnPath(levelsOf(state, nodesAbove(state)), held, {
    amount: larger(amount, held.amount),
    amountMin: smaller(amountMin, amount),
    tokens: larger(tokens, held.tokens),
    tokensMin: smaller(tokensMin, tokens),
  });
  switch (decision.kind) {
    case 'carries':
      if (hold.path === null) return { kind: 'extended', held: decision.amount };
      return { kind: 'extended', held: decision.amount, heldTokens: decision.tokens };
    case 'insufficient':
      return decision;
    case 'held':
      return { kind: mustYield(holdsAt(keys, state, decision.by), hold) ? 'insufficient' : 'temporarily_held' };
  }
}

/** The holds that a level of the key's path counts; those of the key itself in the order of their admission. */
function* holdsAt(keys: WorkingSet, state: KeyState, { node }: Level<AccountNode>): Generator<Hold> {
  if (node === null || state.path === null) {
    yield* keys.holdsOf(state);
    return;
  }
  const id = JSON.stringify(node.account.id);
  for (const hold of keys.holdsOf(state.path.tree)) if (hold.path?.includes(id)) yield hold;
}

/** When the oldest hold of the level is likely to end, by how long its holds lived so far. */
function untilFreeMs(keys: WorkingSet, state: KeyState, level: Level<AccountNode>): number {
  const { nowMs } = keys;
  let oldestAtMs = nowMs;
  for (const { heldAtMs } of holdsAt(keys, state, level)) {
    oldestAtMs = Math.min(oldestAtMs, heldAtMs);
    if (level.node === null) break;
  }
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
