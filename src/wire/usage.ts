/** Provider-reported token figures, made sane. */
import type { TokenCounts } from '../core/usage.ts';
import { isObject, type Json, objectAt } from '../lib/json.ts';

/**
 * Usage as chat and responses report it: the input includes what was read from and written to a cache. Null where the
 * report lacks what a charge needs, or holds nonsense.
 */
export function openaiCounts(
  usage: Json | undefined,
  names: { input: string; inputDetails: string; output: string; outputDetails: string },
): TokenCounts | null {
  if (!isObject(usage)) return null;
  const total = figure(usage[names.input]);
  const output = figure(usage[names.output]);
  const details = objectAt(usage, names.inputDetails);
  const cacheRead = orZero(figure(details?.cached_tokens));
  const written = orZero(figure(details?.cache_write_tokens));
  const long = orZero(figure(details && objectAt(details, 'cache_write_tokens_details')?.ttl_12h_tokens));
  const reasoning = orZero(figure(objectAt(usage, names.outputDetails)?.reasoning_tokens));
  if (typeof total !== 'number' || typeof output !== 'number') return null;
  if (cacheRead === 'insane' || written === 'insane' || long === 'insane' || reasoning === 'insane') return null;
  if (long > written) return null;
  // Some servers report the input without its cached part; then there is nothing to take off.
  const input = total >= cacheRead + written ? total - cacheRead - written : total;
  return saneCounts({
    input,
    cacheRead,
    cacheWrite: written - long,
    cacheWrite1h: long,
    output,
    reasoning: Math.min(reasoning, output),
  });
}

/**
 * One figure of a usage report: a sane count, `absent`, or `insane` (negative, fractional, past what a number holds
 * exactly, or not a number at all), which discredits the whole report.
 */
type Figure = number | 'absent' | 'insane';

export function figure(value: unknown): Figure {
  if (value === undefined || value === null) return 'absent';
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 'insane';
}

export function orZero(value: Figure): number | 'insane' {
  return value === 'absent' ? 0 : value;
}

/** Null where the sum of the classes is no longer a safe integer. */
export function saneCounts(tokens: TokenCounts): TokenCounts | null {
  const sum = tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.cacheWrite1h + tokens.output;
  return Number.isSafeInteger(sum) ? tokens : null;
}
