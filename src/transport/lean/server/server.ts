/** A listener for HTTP/1.1 and the connections that it has accepted. */
import { createServer, type Server } from 'node:net';
import { Connection, type ConnectionOwner, type RequestHandler } from './connection.ts';

export interface ServerLimits {
  /** From the first byte of a head to its last; also how long a new connection may say nothing. */
  readonly headMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** How long a connection without a request is kept. */
  readonly idleMs: number;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Several listeners share the port. */
  readonly reusePort?: boolean;
  /** Connections that wait to be accepted. */
  readonly backlog?: number;
}

/** How often the connections are looked through. */
const ROUND_MS_MAX = 5_000;

export class Http1Server implements ConnectionOwner {
  readonly handler: RequestHandler;
  readonly keepAliveLines: string;
  readonly headRoundsMax: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  round = 0;
  closing = false;
  readonly #listener: Server;
  readonly #connections = new Set<Connection>();
  readonly #roundMs: number;
  #rounds: NodeJS.Timeout | null = null;

  constructor(limits: ServerLimits, handler: RequestHandler) {
    const roundMs = Math.ceil(Math.min(ROUND_MS_MAX, limits.headMs / 4));
    this.#roundMs = roundMs;
    this.handler = handler;
    this.keepAliveLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(limits.idleMs / 1_000)}\r\n`;
    this.headRoundsMax = Math.ceil(limits.headMs / roundMs);
    this.requestRoundsMax = Math.ceil(limits.requestMs / roundMs);
    this.idleRoundsMax = Math.ceil(limits.idleMs / roundMs);
    // Half-open, because a refused client must be able to read why after its own side is closed.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#connections.add(new Connection(socket, this));
    });
  }

  /** The port that is listened on. */
  listen(options: ListenOptions): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#listener.once('error', reject);
      this.#listener.listen(options, () => {
        this.#listener.off('error', reject);
        // A connection that could not be accepted concerns its client alone, who sees it.
        this.#listener.on('error', () => {});
        this.#rounds = setInterval(() => this.#look(), this.#roundMs).unref();
        const address = this.#listener.address();
        if (address === null || typeof address === 'string') reject(new Error('the listener has no port'));
        else resolve(address.port);
      });
    });
  }

  /** Accepts no connection any more, closes those without a request, and the others after the answer that they wait for. */
  close(): void {
    this.closing = true;
    this.#listener.close();
    for (const connection of this.#connections) connection.closeIfIdle();
    this.#stopRounds();
  }

  get connections(): number {
    return this.#connections.size;
  }

  closeAllConnections(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  closed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#stopRounds();
  }

  #look(): void {
    this.round += 1;
    for (const connection of this.#connections) connection.check();
  }

  #stopRounds(): void {
    if (this.closing && this.#connections.size === 0 && this.#rounds) clearInterval(this.#rounds);
  }
}
