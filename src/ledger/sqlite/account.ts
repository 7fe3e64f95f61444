/** A key with its sums as the writer sees them: read from a row, moved by operations, written back before the commit. */
import type { KeyRecord, Mode, StoredStatus } from '../../core/key.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { Sums } from '../account.ts';
import { amount, amountOrNull, integer, integerOrNull, type Row, text, textOrNull } from './columns.ts';

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

/** For sums that only inform: they stop at what a column can hold instead of failing a settlement. */
export function saturate(value: bigint): bigint {
  return value > AMOUNT_MAX ? AMOUNT_MAX : value;
}
