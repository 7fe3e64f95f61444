/** A key with its sums as the writer sees them: read from a row, moved by operations, written back before the commit. */
import { AMOUNT_MAX } from '../../core/money.ts';
import type { Sums } from '../rules/account.ts';
import { sumsFrom } from '../rules/row-mapping.ts';
import { type Row, readersOf } from './columns.ts';

export function readSums(row: Row): Sums {
  return sumsFrom(readersOf(row));
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
