/** Money beside charges, as the model keeps it: what was bought, corrected, given back and has expired, of keys and roots. */
import type { OperationOf, Purchase, Result } from '../../src/ledger/operations.ts';
import type { Model } from './model.ts';
import { accountSummary } from './model-accounts.ts';
import {
  LARGEST,
  type ModelAccount,
  type ModelHold,
  type ModelKey,
  type ModelPayer,
  type ModelPromotion,
  sum,
} from './model-parts.ts';

const REFUSED = { kind: 'refused', reason: '' } as const;

/** What was given to a payer in all, without what has expired of it. */
export function given(model: Model, payer: ModelKey | ModelAccount): bigint {
  expire(model, payer);
  return sum([...payer.purchases.values(), ...payer.booked.values()]) - payer.expired;
}

/** In the order in which they are spent, and expire. */
function inOrder({ promotions }: ModelPayer): ModelPromotion[] {
  return promotions
    .filter(({ left }) => left > 0n)
    .sort((one, other) => one.expiresAtMs - other.expiresAtMs || (one.id < other.id ? -1 : 1));
}

/** Ruling 73: when promotional credit expires, what is held from before that moment stays spendable. */
function expire(model: Model, payer: ModelKey | ModelAccount): void {
  const isHeld = ({ key, hold }: { readonly key: ModelKey; readonly hold: ModelHold }) =>
    'charges' in payer ? key === payer : key.record.mode === 'credit' && hold.path.includes(payer.record.id);
  const holds = model.live().filter(isHeld);
  let needed = 0n;
  for (const promotion of inOrder(payer)) {
    if (promotion.expiresAtMs > model.nowMs) continue;
    const held = holds.filter(({ hold }) => hold.heldAtMs < promotion.expiresAtMs).map(({ hold }) => hold.amount);
    const open = sum(held) - needed;
    const kept = open <= 0n ? 0n : open < promotion.left ? open : promotion.left;
    needed += kept;
    payer.expired += promotion.left - kept;
    promotion.left = kept;
  }
}

/** Promotional credit is spent first, what expires first before the rest. */
export function spend(payer: ModelPayer, { heldAtMs }: ModelHold, charged: bigint): void {
  let rest = charged;
  for (const promotion of inOrder(payer)) {
    if (promotion.expiresAtMs <= heldAtMs) continue;
    const part = rest < promotion.left ? rest : promotion.left;
    promotion.left -= part;
    rest -= part;
  }
}

/** Whether a purchase is booked, now or before. `name`: under which it is kept. */
export function bought(
  model: Model,
  payer: ModelKey | ModelAccount,
  name: string,
  { entryId, amountNanos, expiresAtMs = null }: Purchase,
  mayBuy: boolean,
): boolean {
  const promotional = `promotion ${entryId} until ${expiresAtMs}`;
  const earlier = payer.purchases.get(name) ?? payer.booked.get(promotional);
  const otherwise = [...payer.booked.keys()].some((key) => key.startsWith(`promotion ${entryId} until `));
  if (earlier !== undefined) {
    const asPurchase = payer.purchases.has(name);
    return earlier === amountNanos && asPurchase === (expiresAtMs === null);
  }
  if (otherwise || !mayBuy || amountNanos <= 0n || given(model, payer) + amountNanos > LARGEST) return false;
  if (expiresAtMs === null) payer.purchases.set(name, amountNanos);
  else {
    if (expiresAtMs <= model.nowMs) return false;
    payer.booked.set(promotional, amountNanos);
    payer.promotions.push({ id: entryId, expiresAtMs, left: amountNanos });
  }
  return true;
}

/** What a payer has bought and not used, and how much of that is held. */
function balanceOf(model: Model, payer: ModelKey | ModelAccount): { readonly balance: bigint; readonly held: bigint } {
  if ('charges' in payer) return { balance: model.means(payer), held: model.reserved(payer) };
  const { purchased, used, reserved } = accountSummary(model, payer);
  return { balance: purchased - used, held: reserved };
}

export function correct(model: Model, { request }: OperationOf<'correct'>): Result {
  const { payerId, entryId, amountNanos } = request;
  const key = model.keys.get(payerId);
  const payer = key ?? model.accounts.get(payerId);
  if (payer === undefined) return { kind: 'unknown_payer' };
  const joined = key !== undefined && key.record.accountId !== null;
  const name = `correction ${entryId}`;
  const earlier = payer.booked.get(name);
  if (earlier === undefined) {
    const pays = 'charges' in payer ? payer.record.mode === 'credit' && !joined : payer.record.parentId === null;
    if (!pays || amountNanos === 0n || given(model, payer) + amountNanos > LARGEST) return REFUSED;
    const { balance, held } = balanceOf(model, payer);
    const promotional = sum(payer.promotions.map(({ left }) => left));
    const free = balance - (held > promotional ? held : promotional);
    if (amountNanos < 0n && free + amountNanos < 0n) return REFUSED;
    payer.booked.set(name, amountNanos);
  } else if (earlier !== amountNanos) return REFUSED;
  return { kind: 'corrected', balance: joined ? 0n : balanceOf(model, payer).balance };
}

export function refund(model: Model, { request }: OperationOf<'refund'>): Result {
  const { keyId, chargeId, entryId, amountNanos } = request;
  const key = model.keys.get(keyId);
  const end = key?.holds.get(chargeId)?.end ?? null;
  if (key === undefined || end === null || end === 'voided') return { kind: 'unknown_charge' };
  if (key.record.mode !== 'credit') return REFUSED;
  const payer = model.above(key).at(-1) ?? key;
  const payerId = payer.record.id;
  const refunds = model.refunds.filter((each) => each.keyId === keyId && each.chargeId === chargeId);
  const refunded = sum(refunds.map(({ amount }) => amount));
  const done = (amount: bigint, more: bigint): Result => ({
    kind: 'refunded',
    payerId,
    amount,
    refunded: refunded + more,
    charged: end.charged,
    balance: balanceOf(model, payer).balance,
  });
  // One of the account that the key has joined since may have the same id: that of this charge counts first.
  const named = model.refunds.filter((each) => each.entryId === entryId);
  const earlier =
    named.find((each) => refunds.includes(each)) ??
    named.find((each) => each.keyId === keyId || each.payerId === payerId);
  if (earlier !== undefined) {
    const same = refunds.includes(earlier) && (amountNanos ?? earlier.amount) === earlier.amount;
    return same ? done(earlier.amount, 0n) : REFUSED;
  }
  const amount = amountNanos ?? end.charged - refunded;
  if (amount <= 0n || refunded + amount > end.charged || given(model, payer) + amount > LARGEST) return REFUSED;
  payer.booked.set(`refund ${entryId}`, amount);
  model.refunds.push({ payerId, keyId, chargeId, entryId, amount });
  return done(amount, amount);
}

export function findCharge(model: Model, { requestId }: OperationOf<'findCharge'>): Result {
  for (const key of model.keys.values()) {
    const charge = key.charges.find(({ id }) => id === requestId);
    if (charge === undefined) continue;
    const keyId = key.record.id;
    const refunds = model.refunds.filter((each) => each.keyId === keyId && each.chargeId === requestId);
    const refunded = sum(refunds.map(({ amount }) => amount));
    return {
      keyId,
      chargeId: requestId,
      charged: charge.amount,
      refunded,
      atMs: charge.atMs,
      recovered: charge.recovery !== null,
    };
  }
  return null;
}
