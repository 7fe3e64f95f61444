/** Usage in the terms of the messages format, whose classes do not overlap. */
import type { TokenCounts } from '../../core/usage.ts';
import { countAt } from '../counts.ts';
import { type JsonObject, objectAt } from '../json.ts';

/** What `usage` says, over what was said before: a later event may repeat only some of the figures. */
export function readMessagesTokens(usage: JsonObject, before: TokenCounts | null): TokenCounts | null {
  const input = countAt(usage, 'input_tokens') ?? before?.input;
  const output = countAt(usage, 'output_tokens') ?? before?.output;
  if (input === undefined || output === undefined) return before;
  const written = countAt(usage, 'cache_creation_input_tokens');
  const oneHour = countAt(objectAt(usage, 'cache_creation'), 'ephemeral_1h_input_tokens');
  const cacheWrite1h = oneHour ?? before?.cacheWrite1h ?? 0;
  const cacheWrite = written === undefined ? (before?.cacheWrite ?? 0) : Math.max(0, written - cacheWrite1h);
  const thought = countAt(objectAt(usage, 'output_tokens_details'), 'thinking_tokens');
  return {
    input,
    cacheRead: countAt(usage, 'cache_read_input_tokens') ?? before?.cacheRead ?? 0,
    cacheWrite,
    cacheWrite1h,
    output,
    reasoning: Math.min(thought ?? before?.reasoning ?? 0, output),
  };
}

export function writeMessagesTokens(tokens: TokenCounts): object {
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
