/** Money beside charges, as the model keeps it: what was bought, corrected and given back, of keys and of roots. */
import type { OperationOf, Result } from '../../src/ledger/operations.ts';
import type { Model } from './model.ts';
import { accountSummary } from './model-accounts.ts';
import { LARGEST, type ModelAccount, type ModelKey, type ModelPayer, sum } from './model-parts.ts';

const REFUSED = { kind: 'refused', reason: '' } as const;

/** What was given to a payer in all. */
export function given({ purchases, booked }: ModelPayer): bigint {
  return sum([...purchases.values(), ...booked.values()]);
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
    if (!pays || amountNanos === 0n || given(payer) + amountNanos > LARGEST) return REFUSED;
    const { balance, held } = balanceOf(model, payer);
    if (balance - held + amountNanos < 0n) return REFUSED;
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
  const earlier = model.refunds.find((each) => each.payerId === payerId && each.entryId === entryId);
  if (earlier !== undefined) {
    const same = refunds.includes(earlier) && (amountNanos ?? earlier.amount) === earlier.amount;
    return same ? done(earlier.amount, 0n) : REFUSED;
  }
  const amount = amountNanos ?? end.charged - refunded;
  if (amount <= 0n || refunded + amount > end.charged || given(payer) + amount > LARGEST) return REFUSED;
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
    return { keyId, chargeId: requestId, charged: charge.amount, refunded, atMs: charge.atMs };
  }
  return null;
}
