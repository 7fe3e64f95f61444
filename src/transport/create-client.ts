/** Which implementation calls the providers. */
import type { CallHandle, ClientTransport, HttpImplementation, OutgoingRequest, ResponseListener } from './client.ts';
import { LeanClient } from './lean/client/client.ts';
import { NodeClient } from './node/client/client.ts';

export { openDispatcher } from './node/client/pool.ts';

export function createClientTransport(implementation: HttpImplementation): ClientTransport {
  return implementation === 'node' ? new NodeClient() : new LeanWhereItCan();
}

/** The lean client speaks HTTP/1.1 straight to the provider, with the usual authorities; undici does the rest. */
class LeanWhereItCan implements ClientTransport {
  readonly #lean = new LeanClient();
  readonly #node = new NodeClient();

  send(request: OutgoingRequest, listener: ResponseListener): CallHandle {
    const { proxy, ca, clientCert, http2 } = request.destination.network;
    const plain = proxy === null && ca === null && clientCert === null && !http2;
    return (plain ? this.#lean : this.#node).send(request, listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#lean.close(), this.#node.close()]);
  }
}
