/** Whether an account carries a hold. Pure: decides, moves nothing. */
import { AMOUNT_MAX } from '../../core/money.ts';
import { periodEndMs } from '../../core/period.ts';
import { NO_PERIOD_RETRY_MS } from '../operations.ts';
import { BUDGET_REST_TOKENS, type ExtendOutcome } from '../port.ts';
import { accountTimeMs } from '../rules/account.ts';
import type { Account, Hold } from './account-cache.ts';

export type BalanceDecision =
  | { readonly kind: 'carries'; readonly amount: bigint }
  | { readonly kind: 'insufficient'; readonly available: bigint }
  | { readonly kind: 'temporarily_held'; readonly retryAfterMs: number }
  | { readonly kind: 'limit_reached'; readonly retryAfterMs: number };

const RETRY_MS_MIN = 1_000;

/** What the account could carry if nothing were held: the balance, or what is left of the budget in this period. */
function ownMeans(account: Account): bigint {
  const { key } = account;
  if (key.mode === 'credit') return account.purchased - account.used;
  return (key.budget ?? AMOUNT_MAX) - account.periodUsed;
}

/** The account's period must have been rolled over to `nowMs`. */
export function decideHold(account: Account, amount: bigint, amountMin: bigint, nowMs: number): BalanceDecision {
  const { key } = account;
  const means = ownMeans(account);
  if (key.mode === 'token_budget' && (means <= 0n || (means < amountMin && means < BUDGET_REST_TOKENS))) {
    const endMs = periodEndMs(key.period, accountTimeMs(account, nowMs));
    return { kind: 'limit_reached', retryAfterMs: endMs === null ? NO_PERIOD_RETRY_MS : endMs - nowMs };
  }
  if (means < amountMin) return { kind: 'insufficient', available: means };
  const held = amount < means ? amount : means;
  if (means - account.reserved < held) return { kind: 'temporarily_held', retryAfterMs: untilFreeMs(account, nowMs) };
  return { kind: 'carries', amount: held };
}

/** Whether a live hold can be raised to `amount`. */
export function decideExtension(account: Account, hold: Hold, amount: bigint): ExtendOutcome {
  const held = hold.amount;
  if (amount <= held) return { kind: 'extended', held };
  const means = ownMeans(account);
  if (means < amount) return { kind: 'insufficient' };
  if (means - account.reserved < amount - held)
    return { kind: mustYield(account, hold) ? 'insufficient' : 'temporarily_held' };
  return { kind: 'extended', held: amount };
}

/** Where all holds of an account wait for each other, none would ever end: the youngest has to. */
function mustYield(account: Account, hold: Hold): boolean {
  for (const other of account.holds.values()) {
    if (other !== hold && (!other.waiting || isYounger(other, hold))) return false;
  }
  return true;
}

function isYounger(one: Hold, other: Hold): boolean {
  return one.heldAtMs === other.heldAtMs ? one.id > other.id : one.heldAtMs > other.heldAtMs;
}

/** When the oldest live hold is likely to end, by how long holds of this key lived so far. */
function untilFreeMs(account: Account, nowMs: number): number {
  const [oldest] = account.holds.values();
  if (oldest === undefined) return RETRY_MS_MIN;
  return Math.max(RETRY_MS_MIN, account.holdMs - (nowMs - oldest.heldAtMs));
}
