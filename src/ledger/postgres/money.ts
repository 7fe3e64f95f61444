/** Corrections and refunds, of whoever pays: a root, or a key that pays for itself. Each under the lock of the payer. */

import { amount, integer, text } from '../../storage/columns.ts';
import type { Correction, CorrectionOutcome, FoundCharge, OpenPromotion, Refund, RefundOutcome } from '../port.ts';
import { BOOKED_OTHERWISE, decideRefund, NO_CREDIT_CHARGED, wrongCorrection } from '../rules/money-rules.ts';
import { findLocked } from './accounts.ts';
import { addEntry, findEntry, findRefund, refundedOf } from './entries.ts';
import { lock, type Work } from './keys.ts';
import { addPurchased, type Payer, promotionalOf } from './payer.ts';

type Refused = { readonly kind: 'refused'; readonly reason: string };

function refused(reason: string): Refused {
  return { kind: 'refused', reason };
}

export async function correct(work: Work, request: Correction): Promise<CorrectionOutcome> {
  const { payerId, entryId, amountNanos, note, actor } = request;
  const found = await findPayer(work, payerId);
  if (found === null) return { kind: 'unknown_payer' };
  const { payer, wrong } = found;
  const corrected = (more: bigint): CorrectionOutcome => ({
    kind: 'corrected',
    balance: payer.isKey && wrong !== null ? 0n : payer.purchased + more - payer.used,
  });
  const earlier = await findEntry(work.query, payerId, 'correction', entryId);
  if (earlier !== undefined) {
    return amount(earlier, 'amount') === amountNanos ? corrected(0n) : refused(BOOKED_OTHERWISE);
  }
  const reason = wrong ?? wrongCorrection(payer, await promotionalOf(work.query, payerId), amountNanos);
  if (reason !== null) return refused(reason);
  await addPurchased(work.query, payer, amountNanos);
  const entry = { nodeId: payerId, id: entryId, amount: amountNanos, atMs: payer.nowMs, note, actor };
  await addEntry(work.query, { ...entry, kind: 'correction' });
  return corrected(amountNanos);
}

/** `wrong`: why it has no balance of its own to correct. */
async function findPayer(work: Work, id: string): Promise<{ payer: Payer; wrong: string | null } | null> {
  const key = await lock(work, id);
  if (key !== null) {
    const { totals, nowMs } = key;
    const wrong =
      totals.key.mode !== 'credit'
        ? 'a token-budget key has no credit'
        : key.rootId === null
          ? null
          : 'the account of the key pays for it: correct that one';
    return { payer: { ...totals, id, isKey: true, nowMs }, wrong };
  }
  const account = await findLocked(work, id);
  if (account === null) return null;
  const isRoot = account.node.account.parentId === null;
  const wrong = isRoot ? null : 'only the root of the tree has a balance: correct that one';
  return { payer: { ...account.node, id, isKey: false, nowMs: account.nowMs }, wrong };
}

export async function refund(work: Work, request: Refund): Promise<RefundOutcome> {
  const { keyId, chargeId, entryId, amountNanos, note, actor } = request;
  const { query } = work;
  const key = await lock(work, keyId);
  const [charge] = await query(`SELECT amount FROM gateway.entries WHERE key_id = $1 AND kind = 'charge' AND id = $2`, [
    keyId,
    chargeId,
  ]);
  if (key === null || charge === undefined) return { kind: 'unknown_charge' };
  if (key.totals.key.mode !== 'credit') return refused(NO_CREDIT_CHARGED);
  // A key that paid for itself and joined an account brought its balance there, and its refunds follow.
  const root = key.rootId === null ? null : await findLocked(work, key.rootId);
  const payer: Payer =
    root === null
      ? { ...key.totals, id: keyId, isKey: true, nowMs: key.nowMs }
      : { ...root.root, id: root.root.account.id, isKey: false, nowMs: Math.max(key.nowMs, root.nowMs) };
  const charged = amount(charge, 'amount');
  const refunded = await refundedOf(query, keyId, chargeId);
  const done = (amountNow: bigint, more: bigint): RefundOutcome => ({
    kind: 'refunded',
    payerId: payer.id,
    amount: amountNow,
    refunded: refunded + more,
    charged,
    balance: payer.purchased + more - payer.used,
  });
  const earlier =
    (await findRefund(query, keyId, chargeId, entryId)) ?? (await findEntry(query, payer.id, 'refund', entryId));
  if (earlier !== undefined) {
    const booked = amount(earlier, 'amount');
    const same = earlier.charge_key_id === keyId && earlier.charge_id === chargeId;
    return same && (amountNanos ?? booked) === booked ? done(booked, 0n) : refused(BOOKED_OTHERWISE);
  }
  const decision = decideRefund({ charged, refunded }, payer.purchased, amountNanos);
  if (decision.kind === 'refused') return decision;
  await addPurchased(query, payer, decision.amount);
  const entry = { nodeId: payer.id, id: entryId, amount: decision.amount, atMs: payer.nowMs, note, actor };
  await addEntry(query, { ...entry, kind: 'refund', charge: { keyId, id: chargeId } });
  return done(decision.amount, decision.amount);
}

/** By as many look-ups as there are keys: entries are kept by key, and nobody else asks for one without knowing its key. */
export async function findCharge({ query }: Work, requestId: string): Promise<FoundCharge | null> {
  const [row] = await query(
    `SELECT e.key_id, e.amount, e.at_ms FROM gateway.accounts a CROSS JOIN LATERAL (
      SELECT * FROM gateway.entries l WHERE l.key_id = a.key_id AND l.kind = 'charge' AND l.id = $1 LIMIT 1) e LIMIT 1`,
    [requestId],
  );
  if (row === undefined) return null;
  const keyId = text(row, 'key_id');
  return {
    keyId,
    chargeId: requestId,
    charged: amount(row, 'amount'),
    refunded: await refundedOf(query, keyId, requestId),
    atMs: integer(row, 'at_ms'),
  };
}

/** What is left of a key's or account's own, as if what is due had expired; null for an unknown one. */
export async function openPromotions({ query, nowMs }: Work, id: string): Promise<readonly OpenPromotion[] | null> {
  const [key] = await query('SELECT seen_ms FROM gateway.accounts WHERE key_id = $1', [id]);
  const [account] = await query('SELECT seen_ms FROM gateway.tree_accounts WHERE id = $1', [id]);
  const seen = key ?? account;
  if (seen === undefined) return null;
  const rows = await query(
    `SELECT p.id, p.amount, p.remaining - coalesce(d.amount, 0) AS rest, p.expires_at_ms FROM gateway.promotions p
      LEFT JOIN gateway.due_expiries($1, $2, $3, '{}', '{}') d ON d.id = p.id
      WHERE p.node_id = $1 AND p.remaining > coalesce(d.amount, 0) ORDER BY p.expires_at_ms, p.id`,
    [id, key !== undefined, Math.max(nowMs, integer(seen, 'seen_ms'))],
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    amount: amount(row, 'amount'),
    left: amount(row, 'rest'),
    expiresAtMs: integer(row, 'expires_at_ms'),
  }));
}
