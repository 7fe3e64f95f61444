/** A key with its sums as the writer sees them: read from a row, moved by operations, written back before the commit. */
import type { KeyRecord, Mode, StoredStatus } from '../../core/key.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import { dayStartMs, type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import type { Summary } from '../port.ts';
import { amount, amountOrNull, integer, integerOrNull, type Row, text, textOrNull } from './columns.ts';

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

export function readSums(row: Row): Sums {
  return {
    key: readKey(row),
    purchased: amount(row, 'purchased'),
    used: amount(row, 'used'),
    reserved: amount(row, 'reserved'),
    liveHolds: integer(row, 'live_holds'),
    periodStartMs: integer(row, 'period_start_ms'),
    periodUsed: amount(row, 'period_used'),
    dayStartMs: integer(row, 'day_start_ms'),
    daySpend: amount(row, 'day_spend'),
    lastCost: amount(row, 'last_cost'),
    inputTokens: amount(row, 'input_tokens'),
    outputTokens: amount(row, 'output_tokens'),
    requests: integer(row, 'requests'),
    holdMs: integer(row, 'hold_ms'),
  };
}

// The schema's CHECK constraints hold the values of mode, status and period to these types.
function readKey(row: Row): KeyRecord {
  const models = textOrNull(row, 'models');
  return {
    id: text(row, 'id'),
    version: integer(row, 'version'),
    mode: text(row, 'mode') as Mode,
    label: textOrNull(row, 'label'),
    status: text(row, 'status') as StoredStatus,
    expiresAtMs: integerOrNull(row, 'expires_at_ms'),
    providerScope: text(row, 'provider_scope'),
    models: models === null ? null : (JSON.parse(models) as string[]),
    rpmLimit: integerOrNull(row, 'rpm_limit'),
    budget: amountOrNull(row, 'budget'),
    period: text(row, 'period') as Period,
    createdAtMs: integer(row, 'created_at_ms'),
    prefix: text(row, 'prefix'),
  };
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

/** Books a charge. The caller has released the hold that covers it. */
export function bookCharge(sums: Sums, charged: bigint): void {
  if (sums.key.mode === 'token_budget') {
    sums.periodUsed += charged;
    return;
  }
  sums.used += charged;
  sums.daySpend += charged;
  sums.lastCost = charged;
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

/** For sums that only inform: they stop at what a column can hold instead of failing a settlement. */
export function saturate(value: bigint): bigint {
  return value > AMOUNT_MAX ? AMOUNT_MAX : value;
}
