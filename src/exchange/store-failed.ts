import { GatewayError } from '../core/conditions.ts';

/** The ledger only rejects when its store failed: nothing may start then. */
export function storeFailed(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'The ledger cannot be reached right now. Nothing was charged; retry shortly.',
    cause,
  });
}
