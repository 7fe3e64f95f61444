/** Purchases, corrections and refunds, of whoever pays: a root, or a key that pays for itself. */
import { amount, integer, integerOrNull, text, textOrNull } from '../../storage/columns.ts';
import type { Purchase } from '../operations.ts';
import type { Correction, CorrectionOutcome, OpenPromotion, Refund, RefundOutcome } from '../port.ts';
import {
  BOOKED_OTHERWISE,
  broughtPromotionId,
  decideRefund,
  NO_CREDIT_CHARGED,
  wrongCorrection,
  wrongPurchase,
  wrongRepeat,
} from '../rules/money-rules.ts';
import { wrongExpiry } from '../rules/promotions.ts';
import { type AccountInHand, type Books, type KeyInHand, refused } from './books.ts';
import { addEntry, findEntry, findOwnEntry, findRefund, refundedOf } from './entries.ts';
import { query, queryOne, type Work } from './work.ts';

interface Payer {
  readonly id: string;
  readonly totals: { purchased: bigint; readonly used: bigint; readonly reserved: bigint };
  /** Null for an account. */
  readonly createdAtMs: number | null;
  readonly nowMs: number;
  /** Why it has no balance of its own; null when it has. */
  readonly wrong: string | null;
  save(): Work<void>;
}

export function keyAsPayer(books: Books, inHand: KeyInHand): Payer {
  const { totals, rootId, nowMs } = inHand;
  const { id, mode, createdAtMs } = totals.key;
  const paid = rootId === null ? null : 'the account of the key pays for it: correct that one';
  const wrong = mode === 'credit' ? paid : 'a token-budget key has no credit';
  return { id, totals, createdAtMs, nowMs, wrong, save: () => books.saveTotals(inHand) };
}

export function accountAsPayer(books: Books, { node, nowMs }: Pick<AccountInHand, 'node' | 'nowMs'>): Payer {
  const { id, parentId } = node.account;
  const wrong = parentId === null ? null : 'only the root of the tree has a balance: correct that one';
  return { id, totals: node, createdAtMs: null, nowMs, wrong, save: () => books.saveSums(node, nowMs) };
}

function* findPayer(books: Books, id: string): Work<Payer | null> {
  const key = yield* books.key(id);
  if (key !== null) return keyAsPayer(books, key);
  const account = yield* books.account(id);
  return account === null ? null : accountAsPayer(books, account);
}

export function* correct(books: Books, request: Correction): Work<CorrectionOutcome> {
  const { payerId, entryId, amountNanos, note, actor } = request;
  const payer = yield* findPayer(books, payerId);
  if (payer === null) return { kind: 'unknown_payer' };
  const { totals, wrong } = payer;
  const earlier = yield* findEntry(payerId, 'correction', entryId);
  if (earlier === undefined) {
    const reason = wrong ?? wrongCorrection(totals, yield* promotionalOf(payerId), amountNanos);
    if (reason !== null) return refused(reason);
    yield* addEntry({
      ...{ nodeId: payerId, kind: 'correction', id: entryId },
      ...{ amount: amountNanos, atMs: payer.nowMs, note, actor },
    });
    yield* addPurchased(payer, amountNanos);
  } else if (amount(earlier, 'amount') !== amountNanos) return refused(BOOKED_OTHERWISE);
  const ofOther = payer.createdAtMs !== null && wrong !== null;
  return { kind: 'corrected', balance: ofOther ? 0n : totals.purchased - totals.used };
}

function* addPurchased(payer: Payer, more: bigint): Work<void> {
  payer.totals.purchased += more;
  yield* payer.save();
}

/** Books a purchase, or promotional credit where it has an expiry, once; a reason where it cannot. `wrongNow` keeps it from buying more. */
export function* purchase(payer: Payer, given: Purchase, wrongNow: string | null): Work<string | null> {
  const { entryId, amountNanos, note, actor, expiresAtMs = null } = given;
  const { id: nodeId, createdAtMs, nowMs } = payer;
  // Purchases of earlier releases are among the charges.
  const booked =
    (yield* findEntry(nodeId, 'promotion', entryId)) ??
    (yield* findEntry(nodeId, 'purchase', entryId)) ??
    (createdAtMs === null ? undefined : yield* findOwnEntry(nodeId, 'purchase', entryId));
  if (booked !== undefined) {
    const expiry = integerOrNull(booked, 'expires_at_ms');
    const before = { amount: amount(booked, 'amount'), expiresAtMs: expiry, atMs: integer(booked, 'at_ms') };
    return wrongRepeat(before, given, createdAtMs);
  }
  const wrong =
    wrongNow ??
    wrongPurchase(payer.totals, amountNanos) ??
    (expiresAtMs === null ? null : wrongExpiry(expiresAtMs, nowMs));
  if (wrong !== null) return wrong;
  const entry = { nodeId, id: entryId, amount: amountNanos, atMs: nowMs, note, actor };
  if (expiresAtMs === null) yield* addEntry({ ...entry, kind: 'purchase' });
  else {
    yield* addEntry({ ...entry, kind: 'promotion', expiresAtMs });
    yield* addPromotion(nodeId, entryId, amountNanos, expiresAtMs);
  }
  yield* addPurchased(payer, amountNanos);
  return null;
}

function* addPromotion(nodeId: string, id: string, amountNanos: bigint, expiresAtMs: number): Work<void> {
  yield* query(
    'INSERT INTO @promotions (node_id, id, amount, remaining, expires_at_ms) VALUES ($1, $2, $3, $3, $4)',
    nodeId,
    id,
    amountNanos,
    expiresAtMs,
  );
}

/** All that is left goes along with the balance of a key that joins an account, and expires there as it would have here. */
export function* movePromotions(keyId: string, rootId: string): Work<void> {
  const left = yield* query(
    `UPDATE @promotions SET moved = remaining, remaining = 0 WHERE node_id = $1 AND remaining > 0
    RETURNING id, moved, expires_at_ms`,
    keyId,
  );
  for (const row of left) {
    const id = broughtPromotionId(keyId, text(row, 'id'));
    yield* addPromotion(rootId, id, amount(row, 'moved'), integer(row, 'expires_at_ms'));
  }
}

/** What is left of all promotional credit of a payer. */
function* promotionalOf(payerId: string): Work<bigint> {
  const row = yield* queryOne(
    'SELECT coalesce(sum(remaining), 0) AS rest FROM @promotions WHERE node_id = $1',
    payerId,
  );
  return row === undefined ? 0n : amount(row, 'rest');
}

/** What is left of a key's or account's own; null for an unknown one. */
export function* openPromotions(books: Books, id: string): Work<readonly OpenPromotion[] | null> {
  const nowMs = yield* books.timeOfPayer(id);
  if (nowMs === null) return null;
  const rows = yield* query(
    `SELECT p.id, p.amount, p.rest, p.expires_at_ms FROM (
      SELECT q.*, q.remaining - ${books.dialect.dueOf('q')} AS rest FROM @promotions q
      WHERE q.node_id = $2 AND q.remaining > 0) p WHERE p.rest > 0 ORDER BY p.expires_at_ms, p.id`,
    nowMs,
    id,
  );
  return rows.map((row) => ({
    id: text(row, 'id'),
    amount: amount(row, 'amount'),
    left: amount(row, 'rest'),
    expiresAtMs: integer(row, 'expires_at_ms'),
  }));
}

export function* refund(books: Books, request: Refund): Work<RefundOutcome> {
  const { keyId, chargeId, entryId, amountNanos, note, actor } = request;
  const key = yield* books.key(keyId);
  const charge = yield* findOwnEntry(keyId, 'charge', chargeId);
  if (key === null || charge === undefined) return { kind: 'unknown_charge' };
  if (key.totals.key.mode !== 'credit') return refused(NO_CREDIT_CHARGED);
  // A key that paid for itself and joined an account brought its balance there, and its refunds follow.
  const root = key.rootId === null ? null : yield* books.account(key.rootId);
  const payer =
    root === null
      ? keyAsPayer(books, key)
      : accountAsPayer(books, { node: root.root, nowMs: Math.max(key.nowMs, root.nowMs) });
  const charged = amount(charge, 'amount');
  const refunded = yield* refundedOf(keyId, chargeId);
  const done = (amountNow: bigint, more: bigint): RefundOutcome => ({
    kind: 'refunded',
    payerId: payer.id,
    amount: amountNow,
    refunded: refunded + more,
    charged,
    balance: payer.totals.purchased - payer.totals.used,
  });
  const earlier = (yield* findRefund(keyId, chargeId, entryId)) ?? (yield* findEntry(payer.id, 'refund', entryId));
  if (earlier !== undefined) {
    const booked = amount(earlier, 'amount');
    const same = textOrNull(earlier, 'charge_key_id') === keyId && textOrNull(earlier, 'charge_id') === chargeId;
    return same && (amountNanos ?? booked) === booked ? done(booked, 0n) : refused(BOOKED_OTHERWISE);
  }
  const decision = decideRefund({ charged, refunded }, payer.totals.purchased, amountNanos);
  if (decision.kind === 'refused') return decision;
  const entry = { nodeId: payer.id, id: entryId, amount: decision.amount, atMs: payer.nowMs, note, actor };
  yield* addEntry({ ...entry, kind: 'refund', charge: { keyId, id: chargeId } });
  yield* addPurchased(payer, decision.amount);
  return done(decision.amount, decision.amount);
}
