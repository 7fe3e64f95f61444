/** What of the client's headers may reach a provider. */
import type { ForwardedHeaders } from '../provider/adapters.ts';
import type { RequestHeaders } from './headers.ts';

export function forwardedHeaders(headers: RequestHeaders): ForwardedHeaders {
  return {
    version: headers.get('compat-version') ?? headers.get('anthropic-version'),
    betas: headers.get('anthropic-beta'),
  };
}
