/** Provider-reported token figures, made sane. */
import type { TokenCounts } from '../core/usage.ts';
import { isObject, type Json, objectAt } from '../lib/json.ts';

/**
 * Usage as chat and responses report it: the input includes what was read from and written to a cache, the output what was
 * reasoned. Where the total is more than the two, one of them lacks a part of its own. Null where the report lacks what a charge
 * needs, or holds nonsense.
 */
export function openaiCounts(
  usage: Json | undefined,
  names: { input: string; inputDetails: string; output: string; outputDetails: string },
): TokenCounts | null {
  if (!isObject(usage)) return null;
  const wholeInput = figure(usage[names.input]);
  const shown = figure(usage[names.output]);
  const details = objectAt(usage, names.inputDetails);
  const cacheRead = orZero(figure(details?.cached_tokens));
  const written = orZero(figure(details?.cache_write_tokens));
  const long = orZero(figure(details && objectAt(details, 'cache_write_tokens_details')?.ttl_12h_tokens));
  const reasoning = orZero(figure(objectAt(usage, names.outputDetails)?.reasoning_tokens));
  if (typeof wholeInput !== 'number' || typeof shown !== 'number') return null;
  if (cacheRead === 'insane' || written === 'insane' || long === 'insane' || reasoning === 'insane') return null;
  if (long > written) return null;
  const cached = cacheRead + written;
  const beyond = beyondBoth(usage.total_tokens, wholeInput + shown);
  // Some servers report the input without its cached part; then there is nothing to take off.
  const withoutCached = wholeInput < cached || (beyond > 0 && beyond === cached);
  const hidden = withoutCached ? 0 : hiddenOutput(beyond, reasoning, shown);
  const output = shown + hidden;
  return saneCounts({
    input: withoutCached ? wholeInput : wholeInput - cached,
    cacheRead,
    cacheWrite: written - long,
    cacheWrite1h: long,
    output,
    reasoning: Math.min(Math.max(reasoning, hidden), output),
  });
}

function beyondBoth(total: unknown, both: number): number {
  const reported = figure(total);
  return typeof reported === 'number' ? Math.max(0, reported - both) : 0;
}

/**
 * xAI reports what was reasoned beside the output; Gemini's chat endpoint names it nowhere, and has it in the total alone. Where
 * there is no output at all the report is wrong in some other way.
 */
function hiddenOutput(beyond: number, reasoning: number, shown: number): number {
  return reasoning === beyond || (reasoning === 0 && shown > 0) ? beyond : 0;
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
