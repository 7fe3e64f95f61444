/** Usage in the terms of the responses format. */

import type { ReportedTerms } from '../../core/price-terms.ts';
import { inputTokens, type TokenCounts, totalTokens } from '../../core/usage.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { readTerms } from '../reported-terms.ts';
import { openaiCounts } from '../usage.ts';

const NAMES = {
  input: 'input_tokens',
  inputDetails: 'input_tokens_details',
  output: 'output_tokens',
  outputDetails: 'output_tokens_details',
} as const;

export function readResponsesTokens(usage: Json | undefined): TokenCounts | null {
  return openaiCounts(usage, NAMES);
}

export function readResponsesTerms(response: JsonObject): ReportedTerms | null {
  return readTerms(response, response.usage, { input: NAMES.inputDetails, output: NAMES.outputDetails });
}

export function writeResponsesTokens(tokens: TokenCounts): JsonObject {
  return {
    input_tokens: inputTokens(tokens),
    input_tokens_details: {
      cached_tokens: tokens.cacheRead,
      cache_write_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
    },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: totalTokens(tokens),
  };
}
