/** Where connections of one pool go, and how one is opened. */
import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

const PROBE_AFTER_MS = 60_000;

export class Origin {
  readonly secure: boolean;
  /** As in the `host` field: with the port where it is not the usual one. */
  readonly host: string;
  readonly #hostname: string;
  readonly #port: number;
  /** Of the last connection, so that the next one is opened with less work on both sides. */
  #session: Buffer | undefined;

  constructor(origin: string) {
    const { protocol, host, hostname, port } = new URL(origin);
    this.secure = protocol === 'https:';
    this.host = host;
    this.#hostname = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    this.#port = port === '' ? (this.secure ? 443 : 80) : Number(port);
  }

  /** The bytes that arrive go to `onread`, not through the socket's own buffer. */
  dial(onread: OnReadOpts): Socket {
    const address = { host: this.#hostname, port: this.#port, onread };
    const socket = this.secure ? this.#dialSecurely(address) : connect(address);
    return socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS);
  }

  #dialSecurely(address: { host: string; port: number; onread: OnReadOpts }): Socket {
    // No name is asked for where there is only an address.
    const servername = isIP(address.host) === 0 ? { servername: address.host } : {};
    const session = this.#session ? { session: this.#session } : {};
    const socket = connectSecurely({ ...address, ...servername, ...session, ALPNProtocols: ['http/1.1'] });
    return socket.on('session', (fresh) => {
      this.#session = fresh;
    });
  }
}
