/** What may be booked beside charges and purchases; the same in every backend. Pure. */
import { AMOUNT_MAX, creditsFromNanos } from '../../core/money.ts';
import type { Purchase } from '../operations.ts';
import { OWN_ENTRY_PREFIX, type Refused, type StatementEntry } from '../port.ts';

/** Of whoever pays: a root, or a key that pays for itself. */
export interface PayerTotals {
  readonly purchased: bigint;
  readonly used: bigint;
  readonly reserved: bigint;
}

/** A row of the book of everything but charges. */
export interface NewEntry {
  readonly nodeId: string;
  readonly kind: StatementEntry['kind'];
  readonly id: string;
  readonly amount: bigint;
  readonly otherId?: string;
  readonly note?: string | null;
  readonly actor?: string | null | undefined;
  /** Of a refund. */
  readonly charge?: { readonly keyId: string; readonly id: string };
  /** Of promotional credit. */
  readonly expiresAtMs?: number;
}

/** Of the credit that a key is created with. */
export const FIRST_PURCHASE = `${OWN_ENTRY_PREFIX}first`;
/** What releases before the prefix called it: an operator may have chosen that one too. */
const FIRST_PURCHASE_BEFORE = 'first';

/** Of promotional credit that a key brings to the root of its account, which it does once. */
export function broughtPromotionId(keyId: string, id: string): string {
  return `${OWN_ENTRY_PREFIX}${keyId} ${id}`;
}

interface BookedPurchase {
  readonly amount: bigint;
  /** Null for what was purchased. */
  readonly expiresAtMs: number | null;
  readonly atMs: number;
}

/**
 * Why a purchase is refused whose id has been booked; null where it is the same one, sent again. `createdAtMs` is that of a
 * key, null for an account.
 */
export function wrongRepeat(
  booked: BookedPurchase,
  { entryId, amountNanos, expiresAtMs = null }: Purchase,
  createdAtMs: number | null,
): string | null {
  if (entryId === FIRST_PURCHASE_BEFORE && booked.atMs === createdAtMs) {
    return `the entry ${JSON.stringify(entryId)} is the credit that the key was created with: choose another id`;
  }
  if (booked.amount !== amountNanos) return BOOKED_OTHERWISE;
  return booked.expiresAtMs === expiresAtMs ? null : `this entry was booked before, as ${expiry(booked.expiresAtMs)}`;
}

function expiry(expiresAtMs: number | null): string {
  return expiresAtMs === null
    ? 'credit that does not expire'
    : `credit that expires at ${new Date(expiresAtMs).toISOString()}`;
}

/** What its entries add to `purchased`, as SQL that both dialects have: an amount with its sign. */
export const SIGNED_AMOUNT = `CASE WHEN kind IN ('transfer_out', 'expired') THEN -amount ELSE amount END`;

export const BOOKED_OTHERWISE = 'this entry was booked before, with another amount';

/** Why so much cannot be bought; null when it can. */
export function wrongPurchase({ purchased }: PayerTotals, amountNanos: bigint): string | null {
  return amountNanos <= 0n ? 'the amount must be more than 0' : wrongSum(purchased + amountNanos);
}

/** Why this cannot be what was purchased in all; null when it can. */
export function wrongSum(purchased: bigint): string | null {
  return purchased > AMOUNT_MAX ? 'the balance would be too large' : null;
}

/** Why the balance cannot be corrected by this much; null when it can. `promotional`: what is left of promotional credit. */
export function wrongCorrection(payer: PayerTotals, promotional: bigint, amountNanos: bigint): string | null {
  if (amountNanos === 0n) return 'the amount must not be 0';
  if (amountNanos > 0n) return wrongSum(payer.purchased + amountNanos);
  const balance = payer.purchased - payer.used;
  const held = payer.reserved > promotional ? payer.reserved : promotional;
  const free = balance - held;
  return -amountNanos > free
    ? `only ${creditsFromNanos(free)} credits are free: the rest is held by requests in flight, or promotional`
    : null;
}

interface RefundedCharge {
  readonly charged: bigint;
  readonly refunded: bigint;
}

type RefundDecision = { readonly kind: 'refund'; readonly amount: bigint } | Refused;

/** `amountNanos`: null for all that is left of the charge. */
export function decideRefund(
  { charged, refunded }: RefundedCharge,
  purchased: bigint,
  amountNanos: bigint | null,
): RefundDecision {
  const refused = (reason: string): RefundDecision => ({ kind: 'refused', reason });
  const left = charged - refunded;
  if (charged === 0n) return refused('the request was charged nothing');
  if (left <= 0n) return refused('all that the request was charged has been refunded before');
  const amount = amountNanos ?? left;
  if (amount <= 0n) return refused('the amount must be more than 0');
  if (amount > left) {
    return refused(
      `the request was charged ${creditsFromNanos(charged)} credits, of which ${creditsFromNanos(left)} can still be refunded`,
    );
  }
  const wrong = wrongSum(purchased + amount);
  return wrong === null ? { kind: 'refund', amount } : refused(wrong);
}

export const NO_CREDIT_CHARGED = 'the key has a token budget: its requests are not charged in credits';
