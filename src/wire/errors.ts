/** The two ways in which a body is rejected: the client's request, and the provider's answer. */
import { GatewayError } from '../core/conditions.ts';

export function refuse(param: string, message: string): never {
  throw new GatewayError('invalid_request', { param, message });
}

/** For an upstream answer that breaks its own format. */
export function broken(message: string): never {
  throw new GatewayError('upstream_error', { message: `The provider returned an invalid answer: ${message}` });
}
