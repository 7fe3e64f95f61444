/** An HTTP proxy on loopback: tunnels for CONNECT, and requests with an absolute address, to one and the same port. */
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ProxyOptions {
  /** Where everything goes, whatever name was asked for. */
  readonly port: number;
  /** `user:password`; whoever does not say so is refused with 407. */
  readonly credentials?: string;
  /** What every CONNECT is answered with, instead of a tunnel. `silence`: nothing. */
  readonly refuses?: number | 'silence';
}

export class ConnectProxy implements AsyncDisposable {
  /** What was asked for, in order: `CONNECT host:port`, or the method and the address. */
  readonly asked: string[] = [];
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#forward(request, response));
    this.#server.on('connect', (request, socket) => this.#tunnel(request, socket));
    this.#server.on('connection', (socket) => this.#keep(socket));
  }

  static async start(options: ProxyOptions): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** `host:port`, as messages name it. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  url(credentials = this.#options.credentials): string {
    return `http://${credentials === undefined ? '' : `${credentials}@`}${this.host}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #tunnel(request: IncomingMessage, socket: Duplex): void {
    this.asked.push(`CONNECT ${request.url}`);
    const { refuses, port } = this.#options;
    if (refuses === 'silence') return;
    const status = this.#knows(request) ? refuses : 407;
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const onwards = connect(port, '127.0.0.1');
    this.#keep(onwards);
    onwards.on('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onwards.pipe(socket).pipe(onwards);
    });
    // Whichever side ends, the other one ends with it.
    onwards.on('close', () => socket.destroy());
    socket.on('close', () => onwards.destroy());
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(`${request.method} ${request.url}`);
    if (!this.#knows(request)) {
      response.writeHead(407).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onwards = httpRequest(
      {
        port: this.#options.port,
        host: '127.0.0.1',
        path: pathname + search,
        method: request.method,
        headers,
        agent: false,
      },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    onwards.on('error', () => response.destroy());
    request.pipe(onwards);
  }

  #knows({ headers }: IncomingMessage): boolean {
    const { credentials } = this.#options;
    if (credentials === undefined) return true;
    return headers['proxy-authorization'] === `Basic ${Buffer.from(credentials).toString('base64')}`;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
