/** At which points of a balance, cap or budget somebody is told. Pure. */

import type { AlertPolicy } from '../core/alert-policy.ts';
import { NANOS_PER_CREDIT } from '../core/money.ts';
import type { Share } from './shares.ts';

export type Levels = Pick<AlertPolicy, 'levels' | 'creditsLeft' | 'tokensLeft'>;

/** A percent that is used, or the amount that no more than is left. */
export type Level = { readonly level: number } | { readonly left: number };

/** Of several that are reached at once, the one that is reached last. An amount that was never more than that has none. */
export function levelReached(share: Pick<Share, 'used' | 'amount' | 'unit'>, levels: Levels): Level | null {
  const { used, amount, unit } = share;
  if (amount <= 0n) return null;
  // Of what is used, in hundredths, so that nothing is divided.
  const percents = levels.levels.map((level) => ({ level, at: amount * BigInt(level) }));
  const leftovers = (unit === 'credit' ? levels.creditsLeft : levels.tokensLeft)
    .map((left) => ({ left, at: (amount - unitsOf(left, unit)) * 100n }))
    .filter(({ at }) => at > 0n);
  const reached = [...leftovers, ...percents].filter(({ at }) => used * 100n >= at);
  const [last] = reached.toSorted((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1));
  if (last === undefined) return null;
  return 'level' in last ? { level: last.level } : { left: last.left };
}

function unitsOf(amount: number, unit: Share['unit']): bigint {
  return unit === 'credit' ? BigInt(Math.round(amount * Number(NANOS_PER_CREDIT))) : BigInt(amount);
}
