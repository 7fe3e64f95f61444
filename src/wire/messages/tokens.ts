/** Usage in the terms of the messages format, whose classes do not overlap. */
import type { TokenCounts } from '../../core/usage.ts';

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
