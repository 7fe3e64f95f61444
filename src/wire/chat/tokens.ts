/** Usage in the terms of the chat format. */

import type { ReportedTerms } from '../../core/price-terms.ts';
import { inputTokens, type TokenCounts, totalTokens } from '../../core/usage.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { readTerms } from '../reported-terms.ts';
import { openaiCounts } from '../usage.ts';

const NAMES = {
  input: 'prompt_tokens',
  inputDetails: 'prompt_tokens_details',
  output: 'completion_tokens',
  outputDetails: 'completion_tokens_details',
} as const;

/** A model that takes `web_search_options` searches once for each answer. */
export const SEARCH = 'web_search';

export function readChatTokens(usage: Json | undefined): TokenCounts | null {
  return openaiCounts(usage, NAMES);
}

/** `holder`: a whole answer, or a chunk that carries usage. */
export function readChatTerms(holder: JsonObject): ReportedTerms | null {
  return readTerms(holder, holder.usage, { input: NAMES.inputDetails, output: NAMES.outputDetails });
}

export function writeChatTokens(tokens: TokenCounts): JsonObject {
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
