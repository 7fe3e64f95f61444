/** Every request to an endpoint, whatever has brought it: a drain waits for it, it is answered, and the observers are told. */
import type { TrustedProxies } from '../core/client-address.ts';
import { GatewayError } from '../core/conditions.ts';
import { clientText, type RequestRecord } from '../core/request-record.ts';
import type { Gateway } from '../exchange/gateway.ts';
import type { IncomingRequest } from '../transport/server.ts';
import { clientAddress } from './http-request.ts';

/** What answers a request. */
interface Answering {
  readonly record: RequestRecord;
  /** Whether the client has closed the connection before the answer was complete. */
  readonly closed: boolean;
  error(error: unknown): void;
}

/** `operation` answers, or throws what is answered with. */
export async function serveRequest(gateway: Gateway, reply: Answering, operation: () => Promise<void>): Promise<void> {
  const { record } = reply;
  const { requestId } = record;
  gateway.inFlight.requestStarted();
  try {
    await operation();
  } catch (err) {
    if (!(err instanceof GatewayError))
      gateway.log.error({ err, requestId, keyId: record.keyId }, 'unexpected failure');
    else if (err.cause !== undefined)
      gateway.log.warn({ err: err.cause, requestId, keyId: record.keyId, condition: err.condition }, err.message);
    reply.error(err);
  } finally {
    record.clientClosed = reply.closed;
    record.finish(gateway.observer);
    gateway.inFlight.requestEnded();
  }
}

export function noteClient(
  record: RequestRecord,
  gateway: Gateway,
  proxies: TrustedProxies | null,
  incoming: IncomingRequest,
): void {
  const { headers } = incoming;
  record.clientRequestId = clientText(headers.get('x-request-id') ?? headers.get('x-client-request-id'));
  record.userAgent = clientText(headers.first('user-agent'));
  record.traceparent = clientText(headers.first('traceparent'));
  if (gateway.policy().requestLog.clientAddress) record.clientAddress = clientText(clientAddress(incoming, proxies));
}
