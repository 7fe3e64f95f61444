/**
 * Promotional credit of whoever pays: a root, or a key that pays for itself. It expires under whatever operation comes first,
 * before that is decided.
 */

import { dueExpiries, type Promotion, paidFrom } from '../rules/promotions.ts';
import { type Hold, idOf, type KeyState, type Payer, payerOf, rootOf, type Tree } from './key-state.ts';
import type { WorkingSet } from './working-set.ts';

/** Whether something of the promotional credit that the key spends has to expire, or waits for holds to end. */
export function isDue(state: KeyState, nowMs: number): boolean {
  return anyDue(payerOf(state), nowMs);
}

function anyDue({ promoMs }: Payer, nowMs: number): boolean {
  return promoMs !== null && promoMs <= nowMs;
}

/** Of whoever pays for the key. */
export function expirePromotions(keys: WorkingSet, state: KeyState): void {
  expireOf(keys, state.path === null ? state : state.path.tree);
}

export function expireOf(keys: WorkingSet, holder: KeyState | Tree): void {
  const payer = 'nodes' in holder ? rootOf(holder) : holder;
  if (!anyDue(payer, keys.nowMs)) return;
  const promotions = payer.promotions ?? [];
  const heldBefore = (atMs: number): bigint => {
    let held = 0n;
    for (const hold of keys.holdsOf(holder)) {
      if (hold.mode === 'credit' && hold.heldAtMs < atMs) held += hold.amount;
    }
    return held;
  };
  const due = dueExpiries(promotions, keys.nowMs, heldBefore);
  if (due.length === 0) return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: expired } of due) {
    take(keys, nodeId, promotion, expired);
    keys.addExpired(nodeId, promotion.id, expired);
    addPurchased(keys, payer, -expired);
  }
  keepRest(keys, payer, promotions);
}

/** A charge that is being booked is paid from promotional credit as far as that goes. */
export function spendPromotions(keys: WorkingSet, state: KeyState, hold: Hold, charged: bigint): void {
  const payer = payerOf(state);
  const { promotions } = payer;
  if (promotions === null || state.key.mode !== 'credit') return;
  const nodeId = idOf(payer);
  for (const { promotion, amount: part } of paidFrom(promotions, charged, hold.heldAtMs)) {
    take(keys, nodeId, promotion, part);
    keys.addPromotionCharge(nodeId, promotion.id, hold, part);
  }
  keepRest(keys, payer, promotions);
}

/** What is added to it counts from now on. */
function addPurchased(keys: WorkingSet, payer: Payer, more: bigint): void {
  if ('account' in payer) keys.markNodeDirty(payer);
  else keys.markDirty(payer);
  payer.purchased += more;
}

function take(keys: WorkingSet, nodeId: string, promotion: Promotion, part: bigint): void {
  promotion.remaining -= part;
  keys.savePromotion(nodeId, promotion);
}

/** Those of which something is left stay; the first of them is the next to expire. */
export function keepRest(keys: WorkingSet, payer: Payer, promotions: readonly Promotion[]): void {
  const left = promotions.filter(({ remaining }) => remaining > 0n);
  const before = payer.promoMs;
  payer.promotions = left.length === 0 ? null : left;
  payer.promoMs = left[0]?.expiresAtMs ?? null;
  if (payer.promoMs === before) return;
  keys.savePromoMs(payer);
}
