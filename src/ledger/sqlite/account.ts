/** A key with its totals: read from a row, changed by operations, written back before the commit. */
import { AMOUNT_MAX } from '../../core/money.ts';
import type { AccountTotals } from '../rules/account.ts';
import { totalsFrom } from '../rules/row-mapping.ts';
import { type Row, readersOf } from './columns.ts';

export function readTotals(row: Row): AccountTotals {
  return totalsFrom(readersOf(row));
}

/** Adds a charge to the totals. The caller has released the hold that covers it. */
export function bookCharge(totals: AccountTotals, charged: bigint): void {
  if (totals.key.mode === 'token_budget') {
    totals.periodUsed += charged;
    return;
  }
  totals.used += charged;
  totals.daySpend += charged;
  totals.lastCost = charged;
  // Of a key that may have a cap.
  if (totals.key.accountId !== null) totals.periodUsed += charged;
}

/** For totals that only inform: they stop at what a column can hold instead of failing a settlement. */
export function saturate(value: bigint): bigint {
  return value > AMOUNT_MAX ? AMOUNT_MAX : value;
}
