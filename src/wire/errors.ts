/** The ways in which a body is rejected: the client's request, and the provider's answer. */
import { GatewayError } from '../core/conditions.ts';
import type { Seen } from './lane.ts';

export function refuse(param: string, message: string): never {
  throw new GatewayError('invalid_request', { param, message });
}

/** For an upstream answer that breaks its own format. */
export function broken(message: string): never {
  throw new GatewayError('upstream_error', { message: `The provider returned an invalid answer: ${message}` });
}

/**
 * A complete answer that is not what the client asked for. The provider has done its part: the answer is owed, and says
 * nothing about the target. `meter`: what is owed of a whole answer; a stream has its own.
 */
export class UnfitAnswer extends GatewayError {
  readonly meter: Seen | null;

  constructor(message: string, meter: Seen | null = null) {
    super('upstream_error', { message });
    this.meter = meter;
  }
}
