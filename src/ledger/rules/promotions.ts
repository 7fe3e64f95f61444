/**
 * Promotional credit: it is spent before what was purchased, what expires first before the rest. When it expires, what holds
 * from before that moment may still need stays until they end, and the rest is gone. Pure: decides, moves nothing.
 */

export interface Promotion {
  readonly id: string;
  readonly expiresAtMs: number;
  remaining: bigint;
}

interface PromotionPart {
  readonly promotion: Promotion;
  readonly amount: bigint;
}

/** The order in which they are spent, and expire. */
export function byExpiry(one: Promotion, other: Promotion): number {
  return one.expiresAtMs - other.expiresAtMs || (one.id < other.id ? -1 : 1);
}

/** What has to expire now. `heldBefore`: how much is held by holds that were admitted before a time. */
export function dueExpiries(
  promotions: readonly Promotion[],
  nowMs: number,
  heldBefore: (atMs: number) => bigint,
): readonly PromotionPart[] {
  const due: PromotionPart[] = [];
  let kept = 0n;
  for (const promotion of promotions) {
    if (promotion.expiresAtMs > nowMs) break;
    const needed = heldBefore(promotion.expiresAtMs) - kept;
    const keep = needed <= 0n ? 0n : needed < promotion.remaining ? needed : promotion.remaining;
    kept += keep;
    if (keep < promotion.remaining) due.push({ promotion, amount: promotion.remaining - keep });
  }
  return due;
}

/** From which promotions a charge is paid; a hold has no part in what had expired before it was admitted. */
export function paidFrom(
  promotions: readonly Promotion[],
  charged: bigint,
  heldAtMs: number,
): readonly PromotionPart[] {
  const parts: PromotionPart[] = [];
  let rest = charged;
  for (const promotion of promotions) {
    if (rest === 0n) break;
    if (promotion.expiresAtMs <= heldAtMs) continue;
    const amount = rest < promotion.remaining ? rest : promotion.remaining;
    parts.push({ promotion, amount });
    rest -= amount;
  }
  return parts;
}

/** Why promotional credit cannot be booked with this expiry; null when it can. */
export function wrongExpiry(expiresAtMs: number, nowMs: number): string | null {
  if (!Number.isSafeInteger(expiresAtMs)) return 'the expiry of promotional credit is out of range';
  return expiresAtMs <= nowMs ? 'the expiry of promotional credit is in the past' : null;
}
