/** Opens the connections of one pool. */
import { lookup } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectSecurely, createSecureContext, type SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import type { Network } from '../../core/provider.ts';
import { isPublic } from '../../core/public-address.ts';
import { readDirectly } from './direct-read.ts';
import { ignoreUnaskedContinue } from './unasked-continue.ts';

const PROBE_AFTER_MS = 60_000;
const HIGH_WATER_MARK = 64 * 1_024;

export class Connector {
  /**
   * The connection that was begun last, until somebody has looked. A pool begins one within `dispatch`, or for an iterable body in the
   * next microtask, on behalf of that very call.
   */
  last: Socket | null = null;
  readonly #connectMs: number;
  readonly #protocols: readonly string[];
  readonly #secureContext: SecureContext | undefined;
  /** How a name becomes an address. */
  readonly #resolution: { readonly lookup?: LookupFunction };
  /** Of the last connection to each host, so that the next one is opened with less work on both sides. */
  readonly #sessions = new Map<string, Buffer>();

  constructor(network: Network, connectMs: number) {
    this.#connectMs = connectMs;
    this.#protocols = network.http2 ? ['h2', 'http/1.1'] : ['http/1.1'];
    this.#secureContext = secureContextOf(network);
    this.#resolution = network.publicOnly ? { lookup: publicLookup } : {};
  }

  readonly connect = (options: buildConnector.Options, callback: buildConnector.Callback): void => {
    const socket = options.protocol === 'https:' ? this.#secure(options) : this.#plain(options);
    this.last = socket;
    let waiting = true;
    // A connection that was made while the process was held up is taken, as in `DeadlineTimer`.
    const giveUp = (): void => {
      if (waiting) socket.destroy(new ConnectTimeout());
    };
    const timer = setTimeout(() => setImmediate(giveUp), this.#connectMs).unref();
    const settled = (error: Error | null): void => {
      if (!waiting) return;
      waiting = false;
      clearTimeout(timer);
      if (error) callback(error, null);
      else callback(null, socket);
    };
    socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
    readDirectly(socket);
    ignoreUnaskedContinue(socket);
    socket.once(options.protocol === 'https:' ? 'secureConnect' : 'connect', () => settled(null));
    socket.on('error', settled);
    // A server that closes in the middle of a handshake causes no error.
    socket.once('close', () => settled(new ClosedEarly()));
  };

  #secure({ hostname, port }: buildConnector.Options): Socket {
    const name = `${hostname}:${port}`;
    const session = this.#sessions.get(name);
    const socket = connectSecurely({
      host: hostname,
      port: Number(port || 443),
      // No name is sent where there is only an address.
      ...(isIP(hostname) === 0 ? { servername: hostname } : {}),
      ...(session ? { session } : {}),
      ...(this.#secureContext ? { secureContext: this.#secureContext } : {}),
      ALPNProtocols: [...this.#protocols],
      ...this.#resolution,
    });
    return socket.on('session', (fresh) => this.#sessions.set(name, fresh));
  }

  #plain({ hostname, port }: buildConnector.Options): Socket {
    // `net.connect` hands its options to the stream; the type does not list this one.
    const options = { host: hostname, port: Number(port || 80), highWaterMark: HIGH_WATER_MARK, ...this.#resolution };
    return connect(options);
  }
}

/** Judges what a name leads to at the moment of the connection: what it led to before may have changed since. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const wrong = addresses?.find((address) => !isPublic(address));
    const [first] = addresses ?? [];
    if (error !== null) callback(error, '', 0);
    else if (wrong !== undefined) callback(new NotPublic(hostname, wrong.address), '', 0);
    else if (options.all === true) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family);
  });
};

/** Undefined where nothing is different from what Node does by itself. Throws where the files are not what they should be. */
export function secureContextOf({ ca, clientCert, clientKey }: Network): SecureContext | undefined {
  if (ca === null && clientCert === null) return undefined;
  return createSecureContext({
    ...(ca === null ? {} : { ca }),
    ...(clientCert === null || clientKey === null ? {} : { cert: clientCert, key: clientKey }),
  });
}

export class ConnectTimeout extends Error {
  readonly code = 'ETIMEDOUT';
}

class ClosedEarly extends Error {
  readonly code = 'closed early';
}

class NotPublic extends Error {
  readonly code = 'not a public address';

  constructor(hostname: string, address: string) {
    super(`${hostname} leads to ${address}, which is not a public address`);
  }
}
