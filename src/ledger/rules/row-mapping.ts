/** Keys and accounts as rows of any backend: what is written of them, and what is read with their totals. */
import type { AccountRecord, AccountStatus, Cap } from '../../core/account.ts';
import type { KeyRecord, Mode, StoredStatus } from '../../core/key.ts';
import type { Period } from '../../core/period.ts';
import {
  amount,
  amountOrNull,
  bytes,
  flag,
  integer,
  integerOrNull,
  isNull,
  type Row,
  text,
  textOrNull,
} from '../../storage/columns.ts';
import type { Value } from '../books/work.ts';
import type { Hold, HoldMark } from '../engine/key-state.ts';
import type { Claim, ClaimState, HoldEnd } from '../engine/working-set.ts';
import type { KeyTotals } from './key-totals.ts';
import { inheritedIn, inheritedText, LIMIT_COLUMNS, limitsFrom, limitValues } from './limits.ts';
import { byExpiry, type Promotion } from './promotions.ts';
import type { NodeTotals } from './tree.ts';

/** Of a key beside its id, in the order of `keyValues`. */
export const KEY_COLUMNS: readonly string[] = [
  ...['version', 'mode', 'label', 'status', 'expires_at_ms', 'provider_scope', 'budget', 'period', 'account_id', 'cap'],
  ...['created_at_ms', 'prefix', 'capture_days', 'inherited'],
  ...LIMIT_COLUMNS,
];

export function keyValues(key: KeyRecord): readonly Value[] {
  return [
    key.version,
    key.mode,
    key.label,
    key.status,
    key.expiresAtMs,
    key.providerScope,
    key.budget,
    key.period,
    key.accountId,
    key.cap,
    key.createdAtMs,
    key.prefix,
    key.captureDays,
    inheritedText(key.inherited),
    ...limitValues(key),
  ];
}

/** The running sums of a key. */
export const TOTAL_COLUMNS: readonly string[] = [
  ...['purchased', 'used', 'reserved', 'live_holds', 'period_start_ms', 'period_used', 'day_start_ms', 'day_spend'],
  ...['last_cost', 'input_tokens', 'output_tokens', 'requests', 'hold_ms', 'promo_ms'],
];

/** Of an account beside its id, in the order of `accountValues`. */
export const ACCOUNT_COLUMNS: readonly string[] = [
  ...['root_id', 'parent_id', 'version', 'name', 'external_id', 'labels', 'status', 'credit_cap', 'credit_period'],
  ...['token_cap', 'token_period', 'created_at_ms'],
  ...LIMIT_COLUMNS,
];

export function accountValues(account: AccountRecord): readonly Value[] {
  const { creditCap, tokenCap } = account;
  return [
    account.rootId,
    account.parentId,
    account.version,
    account.name,
    account.externalId,
    JSON.stringify(account.labels),
    account.status,
    creditCap?.amount ?? null,
    creditCap?.period ?? null,
    tokenCap?.amount ?? null,
    tokenCap?.period ?? null,
    account.createdAtMs,
    ...limitValues(account),
  ];
}

/** Of the entry of a charge: its amounts, and its path where the key has an account. */
export function endFrom(row: Row): HoldEnd {
  const heldTokens = isNull(row, 'path') ? null : amount(row, 'held_tokens');
  return { kind: 'charged', amount: amount(row, 'amount'), held: amount(row, 'held'), heldTokens };
}

/** Path and mark are each store's own. */
export function holdFrom(row: Row, mode: Mode, path: string | null, mark: HoldMark | null): Hold {
  return {
    keyId: text(row, 'key_id'),
    mode,
    id: text(row, 'id'),
    owner: text(row, 'owner'),
    amount: amount(row, 'amount'),
    tokens: amount(row, 'tokens'),
    path,
    waiting: flag(row, 'waiting'),
    heldAtMs: integer(row, 'held_at_ms'),
    steadyAtMs: integer(row, 'held_at_ms'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    claimName: textOrNull(row, 'claim_name'),
    run: flag(row, 'run'),
    mark,
    persisted: true,
  };
}

export function claimFrom(row: Row): Claim {
  const state = text(row, 'state') as ClaimState;
  const reply =
    state === 'done'
      ? { status: integer(row, 'reply_status'), contentType: text(row, 'reply_type'), body: bytes(row, 'reply_body') }
      : null;
  return { fingerprint: text(row, 'fingerprint'), state, endedAtMs: integerOrNull(row, 'ended_at_ms'), reply };
}

/** Those of which something is left, in the order in which they expire; null where there is none. */
export function promotionsFrom(rows: readonly Row[]): readonly Promotion[] | null {
  if (rows.length === 0) return null;
  const promotions = rows.map((row) => ({
    id: text(row, 'id'),
    expiresAtMs: integer(row, 'expires_at_ms'),
    remaining: amount(row, 'remaining'),
  }));
  return promotions.sort(byExpiry);
}

/** Whether both would be written alike. */
export function sameValues(one: readonly Value[], other: readonly Value[]): boolean {
  return one.every((value, index) => value === other[index]);
}

export function totalsFrom(row: Row): KeyTotals {
  return {
    key: keyFrom(row),
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
    promoMs: integerOrNull(row, 'promo_ms'),
  };
}

// The schema's CHECK constraints hold the values of mode, status and period to these types.
export function keyFrom(row: Row): KeyRecord {
  return {
    id: text(row, 'key_id'),
    version: integer(row, 'version'),
    mode: text(row, 'mode') as Mode,
    label: textOrNull(row, 'label'),
    status: text(row, 'status') as StoredStatus,
    expiresAtMs: integerOrNull(row, 'expires_at_ms'),
    providerScope: text(row, 'provider_scope'),
    ...limitsFrom(row),
    budget: amountOrNull(row, 'budget'),
    period: text(row, 'period') as Period,
    accountId: textOrNull(row, 'account_id'),
    cap: amountOrNull(row, 'cap'),
    inherited: inheritedIn(textOrNull(row, 'inherited'), textOrNull(row, 'account_id')),
    captureDays: integerOrNull(row, 'capture_days'),
    createdAtMs: integer(row, 'created_at_ms'),
    prefix: text(row, 'prefix'),
  };
}

export function nodeFrom(row: Row): NodeTotals {
  return {
    account: accountFrom(row),
    purchased: amount(row, 'purchased'),
    used: amount(row, 'used'),
    reserved: amount(row, 'reserved'),
    reservedTokens: amount(row, 'reserved_tokens'),
    liveHolds: integer(row, 'live_holds'),
    creditStartMs: integer(row, 'credit_start_ms'),
    creditUsed: amount(row, 'credit_used'),
    tokensStartMs: integer(row, 'tokens_start_ms'),
    tokensUsed: amount(row, 'tokens_used'),
    holdMs: integer(row, 'hold_ms'),
    promoMs: integerOrNull(row, 'promo_ms'),
  };
}

function accountFrom(row: Row): AccountRecord {
  const cap = (name: string): Cap | null =>
    isNull(row, `${name}_cap`)
      ? null
      : { amount: amount(row, `${name}_cap`), period: text(row, `${name}_period`) as Period };
  return {
    id: text(row, 'id'),
    version: integer(row, 'version'),
    parentId: textOrNull(row, 'parent_id'),
    rootId: text(row, 'root_id'),
    name: text(row, 'name'),
    externalId: textOrNull(row, 'external_id'),
    // Written from an `AccountRecord`.
    labels: JSON.parse(text(row, 'labels')) as Record<string, string>,
    status: text(row, 'status') as AccountStatus,
    ...limitsFrom(row),
    creditCap: cap('credit'),
    tokenCap: cap('token'),
    createdAtMs: integer(row, 'created_at_ms'),
  };
}
