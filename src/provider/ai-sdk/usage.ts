/** Usage as the AI SDK's packages report it. */
import type { LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { TokenCounts } from '../../core/usage.ts';
import { isObject } from '../../lib/json.ts';

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

/**
 * The tier that served the call, where the package tells it: @ai-sdk/openai and @ai-sdk/google as a string, Bedrock's as an
 * object, each in a member of its own. What Google calls standard is the default here.
 */
export function serviceTierOf(metadata: SharedV4ProviderMetadata | undefined): string | undefined {
  for (const { serviceTier: tier } of Object.values(metadata ?? {})) {
    const name = isObject(tier) ? tier.type : tier;
    if (typeof name === 'string') return name === 'standard' ? 'default' : name;
  }
  return undefined;
}
