/** A listener for HTTP/1.1 over plain TCP, and the connections that it has accepted. */
import { createServer, type Server } from 'node:net';
import type { Log } from '../../../core/log.ts';
import { ConnectionLimit } from '../../connection-limit.ts';
import { listenOn } from '../../listen.ts';
import type { ListenOptions, RequestHandler, ServerLimits, ServerTransport } from '../../server.ts';
import { Connection, type ConnectionOwner } from './connection.ts';

/** How often the connections are checked for time-outs. */
const ROUND_MS_MAX = 5_000;

export class LeanServer implements ServerTransport, ConnectionOwner {
  readonly limits: ServerLimits;
  readonly handler: RequestHandler;
  readonly keepAliveLines: string;
  readonly headRoundsMax: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  round = 0;
  persistent = true;
  closing = false;
  readonly #listener: Server;
  readonly #limit: ConnectionLimit;
  readonly #connections = new Set<Connection>();
  /** How many of them are refused. */
  #excess = 0;
  readonly #roundMs: number;
  #rounds: NodeJS.Timeout | null = null;

  constructor(limits: ServerLimits, handler: RequestHandler, log: Log) {
    const roundMs = Math.ceil(Math.min(ROUND_MS_MAX, limits.headersTimeoutMs / 4));
    this.limits = limits;
    this.handler = handler;
    this.#roundMs = roundMs;
    this.#limit = new ConnectionLimit(limits, log);
    const idleS = Math.floor(limits.keepAliveTimeoutMs / 1_000);
    this.keepAliveLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${idleS}\r\n`;
    this.headRoundsMax = Math.ceil(limits.headersTimeoutMs / roundMs);
    this.requestRoundsMax = Math.ceil(limits.requestTimeoutMs / roundMs);
    this.idleRoundsMax = Math.ceil(limits.keepAliveTimeoutMs / roundMs);
    // Half-open, because a refused client must be able to read why after its own side is closed.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      const open = this.#connections.size;
      if (!this.#limit.mayKeep(open)) {
        socket.destroy();
        return;
      }
      const excess = this.#limit.fault(open - this.#excess) !== null;
      if (excess) this.#excess += 1;
      this.#connections.add(new Connection(socket, this, excess));
    });
  }

  async listen(options: ListenOptions): Promise<number> {
    const port = await listenOn(this.#listener, options, (error) => this.#limit.acceptFailed(error));
    this.#rounds = setInterval(() => this.#check(), this.#roundMs).unref();
    return port;
  }

  setTlsIdentity(): void {
    throw new Error('the lean transport has no TLS');
  }

  endPersistence(): void {
    this.persistent = false;
  }

  close(): void {
    this.endPersistence();
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

  connectionClosed(connection: Connection): void {
    this.#connections.delete(connection);
    if (connection.excess) this.#excess -= 1;
    this.#stopRounds();
  }

  #check(): void {
    this.round += 1;
    for (const connection of this.#connections) connection.check();
  }

  #stopRounds(): void {
    if (this.closing && this.#connections.size === 0 && this.#rounds) clearInterval(this.#rounds);
  }
}
