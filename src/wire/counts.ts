/** Provider-reported token figures, made sane. */
import type { TokenCounts } from '../core/usage.ts';
import { type JsonObject, objectAt } from './json.ts';

/** A figure that can be a token count; undefined for what is absent or nonsense. */
export function countAt(value: JsonObject | undefined, name: string): number | undefined {
  const member = value?.[name];
  return typeof member === 'number' && Number.isSafeInteger(member) && member >= 0 ? member : undefined;
}

/** Usage as chat and responses report it: the input includes what was read from and written to a cache. */
export function openaiCounts(
  usage: JsonObject,
  names: { input: string; inputDetails: string; output: string; outputDetails: string },
): TokenCounts | null {
  const total = countAt(usage, names.input);
  const output = countAt(usage, names.output);
  if (total === undefined || output === undefined) return null;
  const details = objectAt(usage, names.inputDetails);
  const cacheRead = countAt(details, 'cached_tokens') ?? 0;
  const cacheWrite = countAt(details, 'cache_write_tokens') ?? 0;
  // Some servers report the input without its cached part; then there is nothing to take off.
  const input = total >= cacheRead + cacheWrite ? total - cacheRead - cacheWrite : total;
  const reasoning = Math.min(countAt(objectAt(usage, names.outputDetails), 'reasoning_tokens') ?? 0, output);
  return { input, cacheRead, cacheWrite, cacheWrite1h: 0, output, reasoning };
}
