/** The refusal of an input that does not fit in the context window, in the words on which the clients of each format act. */
import { GatewayError } from '../core/conditions.ts';
import { FORMATS } from '../wire/formats.ts';
import { statedContext } from '../wire/upstream-message.ts';
import type { Plan } from './plan.ts';
import type { FormatEndpoint } from './request.ts';

/** Known before the provider is called. */
export function contextExceeded(endpoint: FormatEndpoint, inputTokens: number, contextWindow: number): GatewayError {
  const message =
    endpoint.envelope === 'B'
      ? promptTooLong(inputTokens, contextWindow)
      : `This model's maximum context length is ${contextWindow} tokens. However, your request resulted in ${inputTokens} tokens.`;
  return new GatewayError('context_length_exceeded', {
    message,
    param: FORMATS[endpoint.format].inputField,
  });
}

/**
 * The message that a client reads when the provider refuses the input. Clients of Format B look for one wording, whatever the
 * provider has said; the figures are the provider's, and the estimate and the catalog's where it names none.
 */
export function refusedContext(endpoint: FormatEndpoint, plan: Plan, said: string): string {
  if (endpoint.envelope !== 'B') return said;
  const stated = statedContext(said);
  const window = stated.window ?? plan.model.contextWindow;
  const tokens = stated.tokens ?? plan.input.likely;
  // The provider has found that it is more than fits, even where the estimate says less.
  return window === null ? promptTooLong(tokens, tokens - 1) : promptTooLong(Math.max(tokens, window + 1), window);
}

function promptTooLong(inputTokens: number, contextWindow: number): string {
  return `prompt is too long: ${inputTokens} tokens > ${contextWindow} maximum`;
}
