/** A key with its totals, as every backend reads it, and how they change with time. */
import type { KeyRecord } from '../../core/key.ts';
import { dayStartMs, periodEndMs, periodStartMs } from '../../core/period.ts';
import type { Summary } from '../port.ts';

export interface KeyTotals {
  key: KeyRecord;
  purchased: bigint;
  used: bigint;
  reserved: bigint;
  liveHolds: number;
  periodStartMs: number;
  periodUsed: bigint;
  dayStartMs: number;
  daySpend: bigint;
  lastCost: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  requests: number;
  /** Running average of how long a hold lives; 0 before the first one ended. */
  holdMs: number;
  /** When the first promotional credit of which something is left expires; null where there is none. */
  promoMs: number | null;
}

/**
 * Begins a new period or day where one has come. A clock that was set back across a restart does not reopen one that is
 * over: the account goes on in the newest that it has seen.
 */
export function rollOver(totals: KeyTotals, nowMs: number): void {
  const periodMs = periodStartMs(totals.key.period, nowMs);
  if (periodMs > totals.periodStartMs) {
    totals.periodStartMs = periodMs;
    totals.periodUsed = 0n;
  }
  const dayMs = dayStartMs(nowMs);
  if (dayMs > totals.dayStartMs) {
    totals.dayStartMs = dayMs;
    totals.daySpend = 0n;
  }
}

/** When something happens to the account: never before the period and day that it is counted in. */
export function keyTimeMs(totals: KeyTotals, nowMs: number): number {
  return Math.max(nowMs, totals.periodStartMs, totals.dayStartMs);
}

export function summaryOf(totals: KeyTotals, nowMs: number): Summary {
  rollOver(totals, nowMs);
  const tokenBudget = totals.key.mode === 'token_budget';
  const { key } = totals;
  // The root has paid for what a key of an account has used and holds.
  const paid = !tokenBudget && key.accountId !== null;
  return {
    key,
    purchased: paid ? totals.used + totals.reserved : totals.purchased,
    used: totals.used,
    lastCost: totals.lastCost,
    todaySpend: totals.daySpend,
    reserved: totals.reserved,
    liveHolds: totals.liveHolds,
    periodUsed: totals.periodUsed,
    periodEndsAtMs: tokenBudget || key.cap !== null ? periodEndMs(totals.key.period, keyTimeMs(totals, nowMs)) : null,
    inputTokens: totals.inputTokens,
    outputTokens: totals.outputTokens,
    requests: totals.requests,
  };
}
