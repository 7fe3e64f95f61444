/** The ways to a provider: over HTTP, or through a package in this process. */
import { HttpClient } from '../transport/client/http-client.ts';
import { PackageTransport } from './ai-sdk/transport.ts';
import {
  sendOverHttp,
  type Upstream,
  type UpstreamCall,
  type UpstreamHandle,
  type UpstreamListener,
} from './upstream.ts';

export class Transports implements Upstream {
  readonly #http = new HttpClient();
  readonly #packages = new PackageTransport();

  send(call: UpstreamCall, listener: UpstreamListener): UpstreamHandle {
    return call.via === 'http' ? sendOverHttp(this.#http, call, listener) : this.#packages.send(call, listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#packages.close()]);
  }
}
