/** What cannot be carried is refused by name; what may be left out is told to the operator. */
import { GatewayError } from '../core/conditions.ts';

export function refuse(param: string, message: string): never {
  throw new GatewayError('invalid_request', { param, message });
}

/** For an upstream answer that breaks its own format. */
export function broken(message: string): never {
  throw new GatewayError('upstream_error', { message: `The provider returned an invalid answer: ${message}` });
}
