/** Both ends of a call: a server that says byte by byte what the test tells it to, and a listener that notes what it hears. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TlsOptions } from 'node:tls';
import { reset } from '../../../../../src/sandbox/reset.ts';
import {
  type AnswerListener,
  type CallHandle,
  type ClientRequest,
  Http1Client,
} from '../../../../../src/transport/lean/client/client.ts';
import { field, type Head } from '../../../../../src/transport/lean/head.ts';

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
export class Heard implements AnswerListener {
  status = 0;
  head: Head | null = null;
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

  onHead(status: number, head: Head): void {
    assert.equal(this.head, null, 'a second head');
    assert.equal(this.outcome, null, 'a head after the end');
    this.status = status;
    this.head = head;
    this.#begun.resolve();
  }

  onData(piece: Buffer): void {
    assert.notEqual(this.head, null, 'content before the head');
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

  onFailure(kind: string, code: string): void {
    this.#end(`${kind} (${code})`);
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
    return this.head ? field(this.head, name) : undefined;
  }

  #end(outcome: string): void {
    assert.equal(this.outcome, null, 'a second end');
    this.outcome = outcome;
    this.#over.resolve(outcome);
  }
}

export const BODY = Buffer.from('{"model":"m"}');
export const TIMEOUTS = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 };

/** A client, a server, and calls from the one to the other. */
export class Scene implements AsyncDisposable {
  readonly client = new Http1Client();
  readonly server: RawServer;
  readonly #origin: string;

  private constructor(server: RawServer, origin: string) {
    this.server = server;
    this.#origin = origin;
  }

  static async start(secure: TlsOptions | null = null, host = '127.0.0.1'): Promise<Scene> {
    const server = await RawServer.start(secure);
    return new Scene(server, server.origin(host));
  }

  ask(parts: Partial<ClientRequest> = {}, heard = new Heard()): { heard: Heard; handle: CallHandle } {
    const request = { origin: this.#origin, path: '/p', headers: {}, body: BODY, timeouts: TIMEOUTS, ...parts };
    return { heard, handle: this.client.send(request, heard) };
  }

  /** A call whose request has arrived on a connection of its own. */
  async asked(parts: Partial<ClientRequest> = {}): Promise<Asked> {
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

export interface Asked {
  readonly heard: Heard;
  readonly handle: CallHandle;
  readonly connection: RawConnection;
}

export function answer(body: string, ...lines: string[]): string {
  return [`HTTP/1.1 200 OK`, `content-length: ${body.length}`, ...lines, '', body].join('\r\n');
}
