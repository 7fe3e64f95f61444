/** A request to an endpoint, as the listener received it. */
import type { TrustedProxies } from '../core/client-address.ts';
import { plainAddress } from '../core/client-address.ts';
import type { GatewayError } from '../core/conditions.ts';
import type { Endpoint } from '../core/endpoints.ts';
import type { Mode } from '../core/key.ts';
import type { RequestRecord } from '../core/request-record.ts';
import type { ClientRequest } from '../exchange/request.ts';
import type { IncomingRequest, RequestHeaders } from '../transport/server.ts';
import { readBody } from './body.ts';

/** What is known of a request beyond what the transport says. */
interface RequestContext<E extends Endpoint> {
  readonly endpoint: E;
  readonly originMode: Mode;
  readonly origin: string | null;
  readonly path: string;
  readonly query: string;
  readonly record: RequestRecord;
}

/** One per request. What few requests need is computed when it is asked for. */
export class HttpRequest<E extends Endpoint> implements ClientRequest<E> {
  readonly requestId: string;
  readonly endpoint: E;
  readonly originMode: Mode;
  readonly origin: string | null;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly record: RequestRecord;
  readonly #incoming: IncomingRequest;
  readonly #proxies: TrustedProxies | null;

  constructor(incoming: IncomingRequest, proxies: TrustedProxies | null, context: RequestContext<E>) {
    this.requestId = context.record.requestId;
    this.endpoint = context.endpoint;
    this.originMode = context.originMode;
    this.origin = context.origin;
    this.path = context.path;
    this.query = context.query;
    this.headers = incoming.headers;
    this.record = context.record;
    this.#incoming = incoming;
    this.#proxies = proxies;
  }

  get clientAddress(): string {
    return clientAddress(this.#incoming, this.#proxies);
  }

  readBody(limitBytes: number): Promise<Buffer | GatewayError> {
    return readBody(this.#incoming, limitBytes);
  }
}

export function clientAddress(incoming: IncomingRequest, proxies: TrustedProxies | null): string {
  if (proxies === null) return plainAddress(incoming.remoteAddress);
  return proxies.clientAddress(incoming.remoteAddress, incoming.headers.get(proxies.header));
}
