/** Provider-reported token figures, made sane. */
import type { TokenCounts } from '../core/usage.ts';
import { type JsonObject, objectAt } from '../lib/json.ts';
import { figure, orZero, saneCounts } from './passthrough/observer.ts';

/**
 * Usage as chat and responses report it: the input includes what was read from and written to a cache. Null where the
 * report lacks what a charge needs, or holds nonsense.
 */
export function openaiCounts(
  usage: JsonObject,
  names: { input: string; inputDetails: string; output: string; outputDetails: string },
): TokenCounts | null {
  const total = figure(usage[names.input]);
  const output = figure(usage[names.output]);
  const details = objectAt(usage, names.inputDetails);
  const cacheRead = orZero(figure(details?.cached_tokens));
  const cacheWrite = orZero(figure(details?.cache_write_tokens));
  const thought = orZero(figure(objectAt(usage, names.outputDetails)?.reasoning_tokens));
  if (typeof total !== 'number' || typeof output !== 'number') return null;
  if (cacheRead === 'insane' || cacheWrite === 'insane' || thought === 'insane') return null;
  // Some servers report the input without its cached part; then there is nothing to take off.
  const input = total >= cacheRead + cacheWrite ? total - cacheRead - cacheWrite : total;
  return saneCounts({ input, cacheRead, cacheWrite, cacheWrite1h: 0, output, reasoning: Math.min(thought, output) });
}
