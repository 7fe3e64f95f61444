/** Both ends of a call: a server that says byte by byte what the test tells it to, and a listener that notes what it hears. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TlsOptions } from 'node:tls';
import { type Network, PLAIN_NETWORK } from '../../../../src/core/provider.ts';
import { reset } from '../../../../src/sandbox/reset.ts';
import { HttpClient } from '../../../../src/transport/client/http-client.ts';
import type {
  CallFailure,
  CallHandle,
  CallTimeouts,
  Destination,
  ResponseHeaders,
  ResponseListener,
} from '../../../../src/transport/client.ts';

/** One connection as the server sees it. */
export class RawConnection {
  readonly socket: Socket;
  /** The client has closed it. */
  readonly closed: Promise<unknown>;
  #text = '';
  readonly #watchers = new Set<() => void>();

  constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      this.#text += data.toString('latin1');
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  /** All that has been received on it. */
  get text(): string {
    return this.#text;
  }

  /** Resolves when so many requests have come whole: each ends in `}`, which is in none of their heads. */
  requests(count: number): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (this.#text.split('}').length <= count) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  say(bytes: string): void {
    this.socket.write(Buffer.from(bytes, 'latin1'));
  }

  end(): void {
    this.socket.end();
  }

  reset(): void {
    reset(this.socket);
  }
}

export class RawServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #arrived: RawConnection[] = [];
  readonly #waiting: ((connection: RawConnection) => void)[] = [];
  readonly #scheme: 'http' | 'https';
  connections = 0;

  private constructor(secure: TlsOptions | null) {
    this.#scheme = secure ? 'https' : 'http';
    const serve = (socket: Socket): void => {
      this.connections += 1;
      this.#sockets.add(socket);
      const connection = new RawConnection(socket);
      const wake = this.#waiting.shift();
      if (wake) wake(connection);
      else this.#arrived.push(connection);
    };
    // A client that closes in the middle of a handshake is no event of the test.
    this.#server = secure ? createSecureServer(secure, serve).on('tlsClientError', () => {}) : createServer(serve);
  }

  static async start(secure: TlsOptions | null = null, address = '127.0.0.1'): Promise<RawServer> {
    const server = new RawServer(secure);
    server.#server.listen(0, address);
    await once(server.#server, 'listening');
    return server;
  }

  origin(host = '127.0.0.1'): string {
    return `${this.#scheme}://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next connection, in their order. */
  next(): Promise<RawConnection> {
    const connection = this.#arrived.shift();
    return connection ? Promise.resolve(connection) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** What came of one call, in order. */
export class Heard implements ResponseListener {
  status = 0;
  headers: ResponseHeaders | null = null;
  failure: CallFailure | null = null;
  content = '';
  readonly pieces: string[] = [];
  /** `end`, or the kind and the code of the failure. */
  outcome: string | null = null;
  readonly #over = Promise.withResolvers<string>();
  readonly #begun = Promise.withResolvers<void>();
  readonly #watchers = new Set<() => void>();
  /** Done with each piece. */
  onPiece: (piece: string) => void = () => {};

  get over(): Promise<string> {
    return this.#over.promise;
  }

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  onHead(status: number, headers: ResponseHeaders): void {
    assert.equal(this.headers, null, 'a second head');
    assert.equal(this.outcome, null, 'a head after the end');
    this.status = status;
    this.headers = headers;
    this.#begun.resolve();
  }

  onData(piece: Buffer): void {
    assert.notEqual(this.headers, null, 'content before the head');
    assert.equal(this.outcome, null, 'content after the end');
    const text = piece.toString('latin1');
    this.content += text;
    this.pieces.push(text);
    this.onPiece(text);
    for (const watcher of [...this.#watchers]) watcher();
  }

  onEnd(): void {
    this.#end('end');
  }

  onFailure(failure: CallFailure): void {
    this.failure = failure;
    this.#end(`${failure.kind} (${failure.code})`);
  }

  /** Resolves when the content has come so far. */
  until(content: string): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (!this.content.includes(content)) return;
        this.#watchers.delete(watch);
        resolve();
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  field(name: string): string | undefined {
    return this.headers?.first(name) ?? undefined;
  }

  #end(outcome: string): void {
    assert.equal(this.outcome, null, 'a second end');
    this.outcome = outcome;
    this.#over.resolve(outcome);
  }
}

export const BODY = Buffer.from('{"model":"m"}');
/** One that is sent piece by piece, and one that goes with the head. */
export const BODIES = { small: BODY, large: Buffer.from(`{"model":"${'m'.repeat(20_000)}"}`) };
export const TIMEOUTS = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 };

/** What a test may say about a call; the rest is usual. */
export interface CallParts {
  readonly origin?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly network?: Network;
  readonly body?: Buffer | readonly Buffer[];
  readonly timeouts?: CallTimeouts;
}

/** A client, a server, and calls from the one to the other. */
export class ClientFixture implements AsyncDisposable {
  readonly client: HttpClient;
  readonly server: RawServer;
  readonly #origin: string;

  private constructor(client: HttpClient, server: RawServer, origin: string) {
    this.client = client;
    this.server = server;
    this.#origin = origin;
  }

  static async start(secure: TlsOptions | null = null, host = '127.0.0.1'): Promise<ClientFixture> {
    const server = await RawServer.start(secure);
    return new ClientFixture(new HttpClient(), server, server.origin(host));
  }

  ask(parts: CallParts = {}, heard = new Heard()): { heard: Heard; handle: CallHandle } {
    const { body = BODY, timeouts = TIMEOUTS, ...address } = parts;
    const destination = destinationOf({ origin: this.#origin, ...address });
    return { heard, handle: this.client.send({ destination, body, timeouts }, heard) };
  }

  /** By now a connection whose response has ended can be used again: undici waits for the next turn of the event loop. */
  async freed(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** A call whose request has arrived on a connection of its own. */
  async asked(parts: CallParts = {}): Promise<Asked> {
    const { heard, handle } = this.ask(parts);
    const connection = await this.server.next();
    await connection.requests(1);
    return { heard, handle, connection };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.server[Symbol.asyncDispose]();
  }
}

export function destinationOf(parts: CallParts & { readonly origin: string }): Destination {
  return { path: '/p', headers: {}, network: PLAIN_NETWORK, ...parts };
}

export interface Asked {
  readonly heard: Heard;
  readonly handle: CallHandle;
  readonly connection: RawConnection;
}

/** Its connection is kept for longer than any test takes, unless the lines say for how long. */
export function answer(body: string, ...lines: string[]): string {
  const kept = lines.some((line) => /^(?:connection|keep-alive):/i.test(line)) ? [] : ['keep-alive: timeout=600'];
  return [`HTTP/1.1 200 OK`, `content-length: ${body.length}`, ...kept, ...lines, '', body].join('\r\n');
}
