/** Purchases, corrections and refunds, of whoever pays: a root, or a key that pays for itself. */

import { amount, integer, integerOrNull, text, textOrNull } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
import type { Correction, CorrectionOutcome, FoundCharge, Refund, RefundOutcome } from '../port.ts';
import {
  BOOKED_OTHERWISE,
  decideRefund,
  NO_CREDIT_CHARGED,
  wrongCorrection,
  wrongRepeat,
} from '../rules/money-rules.ts';
import { wrongExpiry } from '../rules/promotions.ts';

import { addEntry, findEntry, findRefund, refundedOf } from './entries.ts';
import type { KeyCache, KeyState } from './key-cache.ts';
import { addPromotion, addPurchased, expireOfTree, expirePromotions, promotionalOf } from './promotions.ts';
import type { ColdStatements } from './statements.ts';
import type { AccountNode } from './tree-cache.ts';

type Refused = { readonly kind: 'refused'; readonly reason: string };

function refused(reason: string): Refused {
  return { kind: 'refused', reason };
}

export function correct(accounts: KeyCache, request: Correction): CorrectionOutcome {
  const { payerId, entryId, amountNanos, note, actor } = request;
  const key = accounts.get(payerId);
  const tree = key === undefined ? accounts.tree(payerId) : undefined;
  const payer = key ?? tree?.nodes.get(payerId);
  if (payer === undefined) return { kind: 'unknown_payer' };
  if (key !== undefined) expirePromotions(accounts, key);
  if (tree !== undefined) expireOfTree(accounts, tree);
  const earlier = findEntry(accounts, payerId, 'correction', entryId);
  if (earlier === undefined) {
    const wrong = wrongPayer(payer) ?? wrongCorrection(payer, promotionalOf(payer), amountNanos);
    if (wrong !== null) return refused(wrong);
    addPurchased(accounts, payer, amountNanos);
    addEntry(accounts, { nodeId: payerId, kind: 'correction', id: entryId, amount: amountNanos, note, actor });
  } else if (amount(earlier, 'amount') !== amountNanos) return refused(BOOKED_OTHERWISE);
  const joined = key !== undefined && key.path !== null;
  return { kind: 'corrected', balance: joined ? 0n : payer.purchased - payer.used };
}

/**
 * Books a purchase, or promotional credit where it has an expiry, once; a reason where it cannot. The payer's promotions must
 * have expired as far as they have to.
 */
export function purchase(
  accounts: KeyCache,
  payer: KeyState | AccountNode,
  given: Purchase,
  wrongNow: () => string | null,
): string | null {
  const { entryId, amountNanos, note, actor, expiresAtMs = null } = given;
  const nodeId = 'account' in payer ? payer.account.id : payer.key.id;
  // Purchases of earlier releases are among the charges.
  const booked =
    findEntry(accounts, nodeId, 'promotion', entryId) ??
    findEntry(accounts, nodeId, 'purchase', entryId) ??
    ('account' in payer ? undefined : accounts.sql.entry.get(nodeId, 'purchase', entryId));
  if (booked !== undefined) {
    const expiry = 'expires_at_ms' in booked ? integerOrNull(booked, 'expires_at_ms') : null;
    const before = { amount: amount(booked, 'amount'), expiresAtMs: expiry, atMs: integer(booked, 'at_ms') };
    return wrongRepeat(before, given, 'account' in payer ? null : payer.key.createdAtMs);
  }
  const wrong = wrongNow() ?? (expiresAtMs === null ? null : wrongExpiry(expiresAtMs, accounts.nowMs));
  if (wrong !== null) return wrong;
  addPurchased(accounts, payer, amountNanos);
  const entry = { nodeId, id: entryId, amount: amountNanos, note, actor };
  if (expiresAtMs === null) addEntry(accounts, { ...entry, kind: 'purchase' });
  else {
    addEntry(accounts, { ...entry, kind: 'promotion', expiresAtMs });
    addPromotion(accounts, payer, { id: entryId, remaining: amountNanos, expiresAtMs });
  }
  return null;
}

/** Why it has no balance of its own to correct; null when it has. */
function wrongPayer(payer: KeyState | AccountNode): string | null {
  if ('account' in payer) {
    return payer.account.parentId === null ? null : 'only the root of the tree has a balance: correct that one';
  }
  if (payer.key.mode !== 'credit') return 'a token-budget key has no credit';
  return payer.path === null ? null : 'the account of the key pays for it: correct that one';
}

export function refund(accounts: KeyCache, request: Refund): RefundOutcome {
  const { keyId, chargeId, entryId, amountNanos, note, actor } = request;
  const key = accounts.get(keyId);
  const charge = key === undefined ? undefined : accounts.sql.entry.get(keyId, 'charge', chargeId);
  if (key === undefined || charge === undefined) return { kind: 'unknown_charge' };
  if (key.key.mode !== 'credit') return refused(NO_CREDIT_CHARGED);
  expirePromotions(accounts, key);
  // A key that paid for itself and joined an account brought its balance there, and its refunds follow.
  const payer = key.path === null ? key : key.path.root;
  const payerId = 'account' in payer ? payer.account.id : keyId;
  const charged = amount(charge, 'amount');
  const refunded = refundedOf(accounts.sql.cold, keyId, chargeId);
  const done = (amountNow: bigint, refundedNow: bigint): RefundOutcome => ({
    kind: 'refunded',
    payerId,
    amount: amountNow,
    refunded: refundedNow,
    charged,
    balance: payer.purchased - payer.used,
  });
  const earlier = findRefund(accounts, keyId, chargeId, entryId) ?? findEntry(accounts, payerId, 'refund', entryId);
  if (earlier !== undefined) {
    const booked = amount(earlier, 'amount');
    const same = textOrNull(earlier, 'charge_key_id') === keyId && textOrNull(earlier, 'charge_id') === chargeId;
    return same && (amountNanos ?? booked) === booked ? done(booked, refunded) : refused(BOOKED_OTHERWISE);
  }
  const decision = decideRefund({ charged, refunded }, payer.purchased, amountNanos);
  if (decision.kind === 'refused') return decision;
  addPurchased(accounts, payer, decision.amount);
  const entry = { nodeId: payerId, id: entryId, amount: decision.amount, note, actor };
  addEntry(accounts, { ...entry, kind: 'refund', charge: { keyId, id: chargeId } });
  return done(decision.amount, refunded + decision.amount);
}

/** By as many look-ups as there are keys: entries are kept by key, and nobody else asks for one without knowing its key. */
export function findCharge(sql: ColdStatements, requestId: string): FoundCharge | null {
  const row = sql(`SELECT e.key_id, e.amount, e.at_ms FROM keys k CROSS JOIN entries e
    ON e.key_id = k.id AND e.kind = 'charge' AND e.id = ? WHERE k.mode IS NOT NULL LIMIT 1`).get(requestId);
  if (row === undefined) return null;
  const keyId = text(row, 'key_id');
  return {
    keyId,
    chargeId: requestId,
    charged: amount(row, 'amount'),
    refunded: refundedOf(sql, keyId, requestId),
    atMs: integer(row, 'at_ms'),
  };
}
