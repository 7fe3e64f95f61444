/**
 * A TCP server that says byte by byte what the test tells it to, for what no honest server does. It understands just
 * enough of HTTP to know where a request ends.
 */

import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { reset } from '../../../src/sandbox/reset.ts';

/** One request that the gateway has sent, and the connection it came on. */
export class ScriptedCall {
  readonly requestLine: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly socket: Socket;
  /** The gateway has closed this connection. */
  readonly closed: Promise<void>;

  constructor(head: string, body: Buffer, socket: Socket) {
    const [requestLine = '', ...lines] = head.split('\r\n');
    this.requestLine = requestLine;
    this.headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    this.body = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** These exact bytes. False when the gateway does not take them fast enough. */
  raw(bytes: string | Buffer): boolean {
    return this.socket.write(bytes);
  }

  /** The head of a stream. Its body is what `chunk` sends, until `finish`. */
  streamHead(headers: Readonly<Record<string, string>> = {}): void {
    this.#head('200 OK', { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers });
  }

  chunk(bytes: string | Buffer): boolean {
    const length = Buffer.byteLength(bytes).toString(16);
    return this.raw(Buffer.concat([Buffer.from(`${length}\r\n`), Buffer.from(bytes), Buffer.from('\r\n')]));
  }

  finish(): void {
    this.raw('0\r\n\r\n');
  }

  /** A whole stream, each frame a chunk of its own. */
  stream(frames: readonly (string | Buffer)[]): void {
    this.streamHead();
    for (const frame of frames) this.chunk(frame);
    this.finish();
  }

  reply(status: number, body: object | string, headers: Readonly<Record<string, string>> = {}): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const length = String(Buffer.byteLength(text));
    this.#head(`${status} Scripted`, { 'content-type': 'application/json', 'content-length': length, ...headers });
    this.raw(text);
  }

  /** Ends the connection as a crashed server does. */
  reset(): void {
    reset(this.socket);
  }

  #head(status: string, headers: Readonly<Record<string, string>>): void {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    this.raw(`HTTP/1.1 ${[status, ...lines].join('\r\n')}\r\n\r\n`);
  }
}

export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #arrived: ScriptedCall[] = [];
  readonly #waiting: ((call: ScriptedCall) => void)[] = [];
  /** Where set, answers every call itself, and `next` sees none. */
  answer: ((call: ScriptedCall) => void) | null = null;
  calls = 0;
  connections = 0;

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async start(): Promise<ScriptedServer> {
    const scripted = new ScriptedServer();
    await new Promise<void>((resolve) => scripted.#server.listen(0, '127.0.0.1', resolve));
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next request to arrive, in order. */
  next(): Promise<ScriptedCall> {
    const call = this.#arrived.shift();
    return call ? Promise.resolve(call) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    // One for each call that comes on the same connection.
    socket.setMaxListeners(0);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    let received = Buffer.alloc(0);
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = received.toString('latin1', 0, end);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      const bodyEnd = end + 4 + length;
      if (received.length < bodyEnd) return;
      this.#arrive(new ScriptedCall(head, received.subarray(end + 4, bodyEnd), socket));
      received = received.subarray(bodyEnd);
    });
  }

  #arrive(call: ScriptedCall): void {
    this.calls += 1;
    if (this.answer) this.answer(call);
    else {
      const wake = this.#waiting.shift();
      if (wake) wake(call);
      else this.#arrived.push(call);
    }
  }
}
