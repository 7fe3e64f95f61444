/** Usage as the AI SDK's packages report it. */
import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { TokenCounts } from '../../core/usage.ts';

/** Null where the provider reported only a part: half a report would be charged as if the rest were nothing. */
export function tokensOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenCounts | null {
  const cacheRead = inputTokens.cacheRead ?? 0;
  const cacheWrite = inputTokens.cacheWrite ?? 0;
  const input =
    inputTokens.noCache ?? (inputTokens.total === undefined ? undefined : inputTokens.total - cacheRead - cacheWrite);
  const reasoning = outputTokens.reasoning ?? 0;
  const output = outputTokens.total ?? (outputTokens.text === undefined ? undefined : outputTokens.text + reasoning);
  if (input === undefined || output === undefined) return null;
  return { input: Math.max(0, input), cacheRead, cacheWrite, cacheWrite1h: 0, output, reasoning };
}
