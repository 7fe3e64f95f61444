/** The undici dispatchers for each way to a provider: straight, through a proxy, with HTTP/2. */
import { getCACertificates } from 'node:tls';
import type { Dispatcher, Pool as UndiciPool } from 'undici';
import type { Network } from '../../core/provider.ts';
import { Connector, secureContextOf } from './connector.ts';
import { Agent, newProxyAgent, Pool } from './undici.ts';

const HEAD_BYTES_MAX = 64 * 1_024;
/** Where the server does not say how long it keeps a connection. */
const KEEP_MS_DEFAULT = 10_000;
const KEEP_MS_MAX = 600_000;
/** A request must not be on its way when the server closes: so much earlier is the connection given up. */
const KEEP_MARGIN_MS = 1_000;

export interface UpstreamPool {
  readonly dispatcher: Dispatcher;
  /** Null where connections are not opened for one call, or not by this side alone. */
  readonly connector: Connector | null;
  /** The proxy's address without its credentials; null where there is none. */
  readonly proxy: string | null;
}

/** Whoever calls through it times what comes after the connection. */
const OPTIONS: UndiciPool.Options = {
  pipelining: 1,
  maxHeaderSize: HEAD_BYTES_MAX,
  keepAliveTimeout: KEEP_MS_DEFAULT,
  keepAliveMaxTimeout: KEEP_MS_MAX,
  keepAliveTimeoutThreshold: KEEP_MARGIN_MS,
  headersTimeout: 0,
  bodyTimeout: 0,
};

export function openUpstreamPool(origin: string, network: Network, connectMs: number): UpstreamPool {
  if (network.proxy !== null) {
    const dispatcher = proxyAgent(network.proxy, network, connectMs);
    return { dispatcher, connector: null, proxy: shown(network.proxy) };
  }
  const connector = new Connector(network, connectMs);
  const dispatcher = new Pool(origin, { ...OPTIONS, allowH2: network.http2, connect: connector.connect });
  return { dispatcher, connector: network.http2 ? null : connector, proxy: null };
}

/** For calls to whatever origin. */
export function openDispatcher(network: Network, connectMs: number): Dispatcher {
  if (network.proxy !== null) return proxyAgent(network.proxy, network, connectMs);
  return new Agent({ ...OPTIONS, allowH2: network.http2, connect: new Connector(network, connectMs).connect });
}

function proxyAgent(uri: string, network: Network, connectMs: number): Dispatcher {
  const secureContext = secureContextOf(network);
  return newProxyAgent({
    ...OPTIONS,
    allowH2: network.http2,
    uri,
    connectTimeout: connectMs,
    requestTls: { ...(secureContext ? { secureContext } : {}), allowH2: network.http2, preferH2: true },
    // A proxy that is itself reached over TLS may have a certificate of the same authority, or a public one.
    proxyTls: { ...(network.ca === null ? {} : { ca: [...getCACertificates('default'), network.ca] }), allowH2: false },
    // A proxy that does not answer to CONNECT is given up like a provider that cannot be reached.
    clientFactory: (proxy, ofAgent) => new Pool(proxy, { ...ofAgent, headersTimeout: connectMs }),
  });
}

function shown(proxy: string): string {
  const { protocol, host } = new URL(proxy);
  return `the proxy ${protocol}//${host}`;
}
