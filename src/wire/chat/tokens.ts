/** Usage in the terms of the chat format. */
import { inputTokens, type TokenCounts, totalTokens } from '../../core/usage.ts';
import type { Json } from '../../lib/json.ts';
import { openaiCounts } from '../usage.ts';

const NAMES = {
  input: 'prompt_tokens',
  inputDetails: 'prompt_tokens_details',
  output: 'completion_tokens',
  outputDetails: 'completion_tokens_details',
} as const;

export function readChatTokens(usage: Json | undefined): TokenCounts | null {
  return openaiCounts(usage, NAMES);
}

export function writeChatTokens(tokens: TokenCounts): object {
  return {
    prompt_tokens: inputTokens(tokens),
    completion_tokens: tokens.output,
    total_tokens: totalTokens(tokens),
    prompt_tokens_details: {
      cached_tokens: tokens.cacheRead,
      cache_write_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: tokens.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
