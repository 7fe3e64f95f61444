/** What a key and its levels show. */
import type { Summary } from '../port.ts';
import { summaryOnPath } from '../rules/levels.ts';
import { nodesAbove } from './key-state.ts';
import { expirePromotions } from './promotions.ts';
import type { WorkingSet } from './working-set.ts';

export function summarize(keys: WorkingSet, keyId: string): Summary | null {
  const state = keys.get(keyId);
  if (state === undefined) return null;
  expirePromotions(keys, state);
  return summaryOnPath(state, nodesAbove(state), keys.nowMs);
}
