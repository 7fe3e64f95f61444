/** A key with its sums, as every backend reads it, and what time does to it. */
import type { KeyRecord } from '../../core/key.ts';
import { dayStartMs, periodEndMs, periodStartMs } from '../../core/period.ts';
import type { Summary } from '../port.ts';

export interface Sums {
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
}

/**
 * Begins a new period or day where one has come. A clock that was set back across a restart does not reopen one that is
 * over: the account goes on in the newest that it has seen.
 */
export function rollOver(sums: Sums, nowMs: number): void {
  const periodMs = periodStartMs(sums.key.period, nowMs);
  if (periodMs > sums.periodStartMs) {
    sums.periodStartMs = periodMs;
    sums.periodUsed = 0n;
  }
  const dayMs = dayStartMs(nowMs);
  if (dayMs > sums.dayStartMs) {
    sums.dayStartMs = dayMs;
    sums.daySpend = 0n;
  }
}

/** When something happens to the account: never before the period and day that it is counted in. */
export function accountTimeMs(sums: Sums, nowMs: number): number {
  return Math.max(nowMs, sums.periodStartMs, sums.dayStartMs);
}

export function summaryOf(sums: Sums, nowMs: number): Summary {
  rollOver(sums, nowMs);
  const tokenBudget = sums.key.mode === 'token_budget';
  return {
    key: sums.key,
    purchased: sums.purchased,
    used: sums.used,
    lastCost: sums.lastCost,
    todaySpend: sums.daySpend,
    reserved: sums.reserved,
    liveHolds: sums.liveHolds,
    periodUsed: sums.periodUsed,
    periodEndsAtMs: tokenBudget ? periodEndMs(sums.key.period, accountTimeMs(sums, nowMs)) : null,
    inputTokens: sums.inputTokens,
    outputTokens: sums.outputTokens,
    requests: sums.requests,
  };
}
