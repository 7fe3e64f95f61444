/** What an operator may do to a key; the same in every backend. Pure. */
import { type KeyRecord, keyStatus, mayMoveStatus, NEW_KEY } from '../../core/key.ts';
import {
  type InheritedLimits,
  type RateLimits,
  type Restrictions,
  wrongRateLimits,
  wrongRestrictions,
} from '../../core/limits.ts';
import { AMOUNT_MAX } from '../../core/money.ts';
import type { KeyChangeOutcome, KeySummary, NewKey, VersionedKeyChange } from '../port.ts';
import { type KeyTotals, summaryOf } from './key-totals.ts';
import { NO_OTHER_LIMITS } from './limits.ts';
import { keyValues, sameValues } from './row-mapping.ts';

export const REVOKED_IS_FINAL = 'the key is revoked, which is final';

export function newKeyRecord(request: NewKey, inherited: readonly InheritedLimits[], nowMs: number): KeyRecord {
  const { secret, credit: _, ...rest } = request;
  return {
    ...NO_OTHER_LIMITS,
    ...NEW_KEY,
    ...rest,
    ...{ version: 1, status: 'active', inherited },
    ...{ createdAtMs: nowMs, prefix: secret.prefix },
  };
}

type ChangeDecision = { readonly kind: 'change'; readonly key: KeyRecord } | KeyChangeOutcome;

/** The key as it is to be stored, or the outcome where there is nothing to store. */
export function decideChange(key: KeyRecord, { ifVersion, ...change }: VersionedKeyChange): ChangeDecision {
  if (ifVersion !== undefined && ifVersion !== key.version) return { kind: 'other_version', version: key.version };
  const next = { ...key, ...change };
  if (sameValues(keyValues(key), keyValues(next))) return { kind: 'changed', key };
  if (key.status === 'revoked') return { kind: 'refused', reason: REVOKED_IS_FINAL };
  if (!mayMoveStatus(key.status, next.status)) {
    return { kind: 'refused', reason: `a key that is ${key.status} cannot become ${next.status}` };
  }
  const wrong = wrongLimits(key.mode, next) ?? wrongCapture(next.captureDays) ?? wrongCap(next);
  if (wrong !== null) return { kind: 'refused', reason: wrong };
  return { kind: 'change', key: { ...next, version: key.version + 1 } };
}

/** Why the key buys no credit; null when it may. */
export function wrongBuyer({ accountId, status }: KeyRecord): string | null {
  if (accountId !== null) return 'the account of the key pays for it: add credit there';
  return status === 'revoked' ? REVOKED_IS_FINAL : null;
}

export function wrongCredit({ mode, credit, accountId }: Pick<NewKey, 'mode' | 'credit' | 'accountId'>): string | null {
  if (mode !== 'credit') return null;
  if (accountId && credit !== 0n) return 'a key of an account has no purchase of its own';
  return credit < 0n || credit > AMOUNT_MAX ? `a purchase of ${credit} is out of range` : null;
}

export function wrongLimits(
  mode: KeyRecord['mode'],
  limits: RateLimits & Restrictions & Pick<KeyRecord, 'budget'>,
): string | null {
  const wrong = wrongRateLimits(limits) ?? wrongRestrictions(limits);
  const { budget } = limits;
  if (wrong !== null || budget === null) return wrong;
  if (mode === 'credit') return 'a credit key has no budget';
  return budget < 0n || budget > AMOUNT_MAX ? 'the budget is out of range' : null;
}

export function wrongCapture(captureDays: number | null): string | null {
  if (captureDays === null || (Number.isSafeInteger(captureDays) && captureDays >= 1)) return null;
  return 'content is kept for a whole number of days from 1';
}

/** A cap limits what a credit key takes from the account that pays; a token-budget key has a budget instead. */
export function wrongCap({ mode, accountId, cap }: Pick<KeyRecord, 'mode' | 'accountId' | 'cap'>): string | null {
  if (cap === null) return null;
  if (mode !== 'credit' || accountId === null) return 'only a credit key of an account has a cap';
  return cap < 0n || cap > AMOUNT_MAX ? 'the cap is out of range' : null;
}

export function keySummary(totals: KeyTotals, nowMs: number, prefixes: readonly string[]): KeySummary {
  return { ...summaryOf(totals, nowMs), status: keyStatus(totals.key, nowMs), secretPrefixes: prefixes };
}
