/** Usage in the terms of the messages format, whose classes do not overlap. */

import type { ReportedTerms } from '../../core/price-terms.ts';
import { addTokens, type TokenCounts } from '../../core/usage.ts';
import { arrayAt, isObject, type Json, type JsonObject, objectAt } from '../../lib/json.ts';
import { readTerms } from '../reported-terms.ts';
import { figure, orZero, saneCounts } from '../usage.ts';

/**
 * Null where the report lacks what a charge needs, or holds nonsense. A compaction is billed like the answer, and its
 * tokens are in `iterations` alone (platform.claude.com, "Compaction at a token threshold"; `BetaIterationsUsage` of
 * @anthropic-ai/sdk). Other entries are parts of the figures around them, or have the price of another model.
 */
export function readMessagesTokens(usage: Json | undefined): TokenCounts | null {
  if (!isObject(usage)) return null;
  let sum = readCounts(usage);
  for (const entry of arrayAt(usage, 'iterations') ?? []) {
    if (!isObject(entry) || entry.type !== 'compaction') continue;
    const compaction = readCounts(entry);
    if (sum === null || compaction === null) return null;
    sum = addTokens(sum, compaction);
  }
  return sum === null ? null : saneCounts(sum);
}

function readCounts(usage: JsonObject): TokenCounts | null {
  const creation = objectAt(usage, 'cache_creation');
  const input = figure(usage.input_tokens);
  const output = figure(usage.output_tokens);
  const cacheRead = orZero(figure(usage.cache_read_input_tokens));
  const hour = orZero(figure(creation?.ephemeral_1h_input_tokens));
  const minutes = orZero(figure(creation?.ephemeral_5m_input_tokens));
  const total = figure(usage.cache_creation_input_tokens);
  const reasoning = orZero(figure(objectAt(usage, 'output_tokens_details')?.thinking_tokens));
  if (typeof input !== 'number' || typeof output !== 'number' || cacheRead === 'insane') return null;
  if (hour === 'insane' || minutes === 'insane' || total === 'insane' || reasoning === 'insane') return null;
  const written = total === 'absent' ? hour + minutes : total;
  if (hour > written) return null;
  return {
    input,
    cacheRead,
    cacheWrite: written - hour,
    cacheWrite1h: hour,
    output,
    reasoning: Math.min(reasoning, output),
  };
}

export function readMessagesTerms(usage: Json | undefined): ReportedTerms | null {
  return isObject(usage) ? readTerms(usage, usage, null) : null;
}

export function writeMessagesTokens(tokens: TokenCounts): JsonObject {
  return {
    input_tokens: tokens.input,
    cache_creation_input_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.cacheWrite,
      ephemeral_1h_input_tokens: tokens.cacheWrite1h,
    },
    output_tokens: tokens.output,
    output_tokens_details: { thinking_tokens: tokens.reasoning },
    server_tool_use: null,
    service_tier: null,
    inference_geo: null,
    speed: null,
  };
}
