/**
 * The key holder's page, `/account` on the public listener. Its application is loaded with the first request, and called
 * without a socket: the listener's own transport has read the request, and sends the answer.
 */
import type { FastifyInstance, HTTPMethods } from 'fastify';
import type { TrustedProxies } from '../core/client-address.ts';
import type { Pages } from '../http/app.ts';
import { readBody } from '../http/body.ts';
import { clientAddress } from '../http/http-request.ts';
import type { IncomingRequest, ServerResponse } from '../transport/server.ts';
import type { KeyholderAppOptions } from './app.ts';

const ASSETS = '/account/assets/';
/** All that the application looks at; what else a client sends cannot change what it does. */
const READ_HEADERS = ['accept-encoding', 'cookie', 'sec-fetch-site'];
/** The transport writes them for itself. */
const OF_CONNECTION = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

export interface KeyholderOptions extends KeyholderAppOptions {
  /** Who tells where a request comes from; null where nobody does. */
  readonly proxies: TrustedProxies | null;
}

export class KeyholderPage implements Pages {
  readonly #options: KeyholderOptions;
  #app: Promise<FastifyInstance> | null = null;

  constructor(options: KeyholderOptions) {
    this.#options = options;
  }

  async serve(
    request: IncomingRequest,
    response: ServerResponse,
    path: string,
    origin: string | null,
  ): Promise<boolean> {
    const { gateway, proxies } = this.#options;
    if (!path.startsWith('/account') || !gateway.policy().accountPage) return false;
    gateway.inFlight.requestStarted();
    try {
      const { keyholderApp, RECEIVED } = await import('./app.ts');
      this.#app ??= keyholderApp(this.#options);
      const app = await this.#app;
      const asset = path.startsWith(ASSETS) ? encodeURIComponent(path.slice(ASSETS.length)) : null;
      const method = request.method as HTTPMethods;
      if (!app.hasRoute({ method, url: asset === null ? path : `${ASSETS}:name` })) return false;
      const [, query = ''] = request.target.split('?');
      const received = { origin, readBody: (bytesMax: number) => readBody(request, bytesMax) };
      const answer = await RECEIVED.run(received, async () =>
        app.inject({
          method,
          url: asset === null ? `${path}?${query}` : ASSETS + asset,
          headers: Object.fromEntries(READ_HEADERS.map((name) => [name, request.headers.get(name) ?? ''])),
          remoteAddress: clientAddress(request, proxies),
        }),
      );
      const headers = Object.entries(answer.headers).filter(([name]) => !OF_CONNECTION.has(name));
      response.send(
        answer.statusCode,
        headers.flatMap(([name, value]) => [name, String(value)]),
        answer.rawPayload,
      );
      return true;
    } finally {
      gateway.inFlight.requestEnded();
    }
  }
}
