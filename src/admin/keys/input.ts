/** Converts what an operator sent to the ledger's types, after its validation. */

import type { Mode } from '../../core/key.ts';
import { AMOUNT_MAX, parseCredits } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { KeyChange } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import { readTime } from '../http/time.ts';
import { fieldNames, invalid, missing, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { readLimits } from './limits.ts';
import { CAPTURE_DAYS_MAX, CreditBody, KeyChangeBody, type KeySettings, NewKeyBody } from './schema.ts';

/** A validated new key: everything but its id and its secret. */
export interface NewKeyPlan extends Required<Omit<KeyChange, 'status'>> {
  readonly mode: Mode;
  readonly accountId: string | null;
  readonly credit: bigint;
}

export interface CreditPlan {
  readonly amountNanos: bigint;
  readonly note: string | null;
  readonly entryId: string | null;
  /** Of promotional credit. */
  readonly expiresAtMs: number | null;
}

const DEFAULT_PERIOD: Period = 'month';

export function readNewKey(body: View<typeof NewKeyBody>): NewKeyPlan {
  const { mode } = body;
  if (mode === 'credit' && body.budget !== undefined) {
    throw invalid('budget', 'belongs to token_budget keys; a credit key takes credit instead');
  }
  const accountId = body.account ?? null;
  if (mode === 'credit' && body.period !== undefined && accountId === null) {
    throw invalid('period', 'belongs to token_budget keys; a credit key has no period');
  }
  if (body.cap !== undefined && (mode !== 'credit' || accountId === null)) {
    throw invalid('cap', 'belongs to credit keys of an account');
  }
  if (accountId !== null && body.credit !== undefined) {
    throw invalid('credit', 'belongs to keys that pay for themselves; the account of this key pays for it');
  }
  if (mode === 'token_budget' && body.credit !== undefined) {
    throw invalid('credit', 'belongs to credit keys; a token_budget key takes budget instead');
  }
  if (mode === 'token_budget' && body.budget === undefined) throw missing(NewKeyBody, 'budget');
  return {
    label: null,
    providerScope: 'all',
    rpmLimit: null,
    tpmLimit: null,
    parallelLimit: null,
    outputLimit: null,
    models: null,
    addresses: null,
    expiresAtMs: null,
    budget: null,
    period: DEFAULT_PERIOD,
    cap: null,
    captureDays: null,
    ...readSettings(body),
    mode,
    accountId,
    credit: body.credit === undefined ? 0n : readAmount('credit', body.credit),
  };
}

export function readKeyChange(body: View<typeof KeyChangeBody>): KeyChange {
  const change: KeyChange = { ...(body.status !== undefined && { status: body.status }), ...readSettings(body) };
  if (Object.keys(change).length === 0) {
    throw new AdminError('invalid_input', `nothing to change: give one of ${fieldNames(KeyChangeBody).join(', ')}`);
  }
  return change;
}

export function readCredit({ amount, note, entry_id, expires_at }: View<typeof CreditBody>): CreditPlan {
  const amountNanos = readAmount('amount', amount);
  if (amountNanos === 0n) throw invalid('amount', 'must be more than 0 credits');
  const expiresAtMs = expires_at == null ? null : readTime(expires_at);
  if (expires_at != null && expiresAtMs === null) throw unexpected(CreditBody, 'expires_at', expires_at);
  return {
    amountNanos,
    note: note?.toWellFormed() ?? null,
    entryId: entry_id?.toWellFormed() ?? null,
    expiresAtMs,
  };
}

function readSettings(body: KeySettings): Omit<KeyChange, 'status'> {
  const { label, provider_scope, expires_at, budget, period, cap, capture_days } = body;
  return {
    ...(label !== undefined && { label: label?.toWellFormed() || null }),
    ...(provider_scope !== undefined && { providerScope: provider_scope.toWellFormed() }),
    ...readLimits(body),
    ...(expires_at !== undefined && { expiresAtMs: readExpiry(expires_at) }),
    ...(budget !== undefined && { budget: readBudget(budget) }),
    ...(period !== undefined && { period }),
    ...(capture_days !== undefined && { captureDays: readCaptureDays(capture_days) }),
    ...(cap !== undefined && { cap: cap === null || cap === 'none' ? null : readAmount('cap', cap) }),
  };
}

function readCaptureDays(value: NonNullable<KeySettings['capture_days']> | null): number | null {
  if (value === null || value === 'off') return null;
  const days = Number(value);
  if (days < 1 || days > CAPTURE_DAYS_MAX) throw unexpected(KeyChangeBody, 'capture_days', value);
  return days;
}

function readBudget(value: NonNullable<KeySettings['budget']> | null): bigint | null {
  if (value === null || value === 'unlimited') return null;
  const tokens = Number(value);
  if (!Number.isSafeInteger(tokens)) throw unexpected(KeyChangeBody, 'budget', value);
  return BigInt(tokens);
}

function readExpiry(value: string | null): number | null {
  if (value === null || value === 'never') return null;
  const atMs = readTime(value);
  if (atMs === null) throw unexpected(KeyChangeBody, 'expires_at', value);
  return atMs;
}

function readAmount(field: 'credit' | 'amount' | 'cap', value: string | number): bigint {
  try {
    const nanos = parseCredits(String(value));
    if (nanos <= AMOUNT_MAX) return nanos;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw unexpected(field === 'amount' ? CreditBody : NewKeyBody, field, value);
}
