/** Converts what an operator sent to the ledger's types, after its validation. */

import type { Mode } from '../../core/key.ts';
import type { KeyChange } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import { readTime } from '../http/time.ts';
import { fieldNames, invalid, missing, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { KEY_DEFAULTS, readAmount, readKeySettings } from './fields.ts';
import { CreditBody, KeyChangeBody, NewKeyBody } from './schema.ts';

/** A validated new key: everything but its id and its secret. */
export interface NewKeyPlan extends Required<Omit<KeyChange, 'status'>> {
  readonly mode: Mode;
  readonly accountId: string | null;
  readonly credit: bigint;
}

interface CreditPlan {
  readonly amountNanos: bigint;
  readonly note: string | null;
  readonly entryId: string | null;
  /** Of promotional credit. */
  readonly expiresAtMs: number | null;
}

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
    ...KEY_DEFAULTS,
    ...readKeySettings(body),
    mode,
    accountId,
    credit: body.credit === undefined ? 0n : readAmount(NewKeyBody, 'credit', body.credit),
  };
}

export function readKeyChange(body: View<typeof KeyChangeBody>): KeyChange {
  const change: KeyChange = { ...(body.status !== undefined && { status: body.status }), ...readKeySettings(body) };
  if (Object.keys(change).length === 0) {
    throw new AdminError('invalid_input', `nothing to change: give one of ${fieldNames(KeyChangeBody).join(', ')}`);
  }
  return change;
}

export function readCredit({ amount, note, entry_id, expires_at }: View<typeof CreditBody>): CreditPlan {
  const amountNanos = readAmount(CreditBody, 'amount', amount);
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
