/** The ways to a provider: over HTTP, or through a package in this process. */
import { PackageTransport } from './ai-sdk/transport.ts';
import {
  type Upstream,
  type UpstreamCall,
  UpstreamClient,
  type UpstreamHandle,
  type UpstreamListener,
} from './upstream.ts';

export class Transports implements Upstream {
  readonly #http = new UpstreamClient();
  readonly #packages = new PackageTransport();

  send(call: UpstreamCall, listener: UpstreamListener): UpstreamHandle {
    return call.via === 'http' ? this.#http.send(call, listener) : this.#packages.send(call, listener);
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#packages.close()]);
  }
}
