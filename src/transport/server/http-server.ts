/**
 * The public listener: `node:http`, and with a certificate `node:https`, whose clients may choose HTTP/2. Node parses,
 * frames and times out; what is checked beyond that is in `http1-connection.ts` and `http2-session.ts`.
 */
import { once } from 'node:events';
import type { ServerResponse as OutgoingMessage, Server } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { clientNetwork, plainAddress } from '../../core/client-address.ts';
import type { Log } from '../../core/log.ts';
import { createServer } from '../../lib/node-http.ts';
import type { RequestFault } from '../errors.ts';
import type { ListenOptions, RequestHandler, ServerLimits, TlsIdentity } from '../server.ts';
import { type ClientConnection, ClientConnections } from './client-connections.ts';
import { ConnectionLimit } from './connection-limit.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http1Message } from './http1-request.ts';
import { Http2Session } from './http2-session.ts';

/** How often the connections are checked for time-outs. */
const ROUND_MS_MAX = 5_000;

interface HttpServerOptions {
  readonly limits: ServerLimits;
  readonly handler: RequestHandler;
  readonly log: Log;
  /** Null: plain HTTP. */
  readonly tls: TlsIdentity | null;
  /** Whether many clients share an address. */
  isProxy(address: string): boolean;
}

/** A connection that was accepted. */
class Accepted implements ClientConnection {
  readonly socket: Socket;
  readonly address: string | null;
  readonly #openedAtRound: number;
  /** Null during the handshake of TLS. */
  protocol: Http1Connection | Http2Session | null = null;
  served = false;

  constructor(socket: Socket, address: string | null, round: number) {
    this.socket = socket;
    this.address = address;
    this.#openedAtRound = round;
  }

  get idleSinceRound(): number | null {
    return this.protocol === null ? this.#openedAtRound : this.protocol.idleSinceRound;
  }

  destroy(): void {
    this.socket.destroy();
  }
}

export class HttpServer {
  readonly limits: ServerLimits;
  readonly handler: RequestHandler;
  readonly keepAlive: string;
  readonly headRoundsMax: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  round = 0;
  persistent = true;
  closing = false;
  readonly #listener: Server | SecureServer;
  readonly #secure: SecureServer | null;
  readonly #limit: ConnectionLimit;
  /** All that were accepted; with TLS, also those whose handshake is not complete. */
  readonly #accepted = new ClientConnections<Accepted>();
  /** Those whose handshake is not complete, by the port of the client: TLS has a socket of its own for each. */
  readonly #handshakes = new Map<string, Accepted>();
  readonly #isProxy: (address: string) => boolean;
  readonly #http1 = new Map<Socket, Http1Connection>();
  readonly #http2 = new Set<Http2Session>();
  /** How many of them are served; the others are refused. */
  #served = 0;
  readonly #roundMs: number;
  #rounds: NodeJS.Timeout | null = null;

  constructor({ limits, handler, log, tls, isProxy }: HttpServerOptions) {
    const roundMs = Math.ceil(Math.min(ROUND_MS_MAX, limits.headersTimeoutMs / 4));
    this.limits = limits;
    this.handler = handler;
    this.#isProxy = isProxy;
    this.#roundMs = roundMs;
    this.keepAlive = `timeout=${Math.floor(limits.keepAliveTimeoutMs / 1_000)}`;
    this.headRoundsMax = Math.ceil(limits.headersTimeoutMs / roundMs);
    this.requestRoundsMax = Math.ceil(limits.requestTimeoutMs / roundMs);
    this.idleRoundsMax = Math.ceil(limits.keepAliveTimeoutMs / roundMs);
    this.#limit = new ConnectionLimit(limits, log);
    const options = {
      IncomingMessage: Http1Message,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      // Node would set a timer after each response; idle connections are found when all are checked.
      keepAliveTimeout: 0,
      connectionsCheckingInterval: roundMs,
      noDelay: true,
      // Both are checked with the rest of the head, and refused with a request id.
      requireHostHeader: false,
      insecureHTTPParser: false,
    };
    this.#secure =
      tls === null
        ? null
        : createSecureServer({
            ...options,
            ...tls,
            ALPNProtocols: ['h2', 'http/1.1'],
            handshakeTimeout: limits.headersTimeoutMs,
          });
    this.#listener = this.#secure ?? createServer(options);
    // All of them are given to the check of the head, which counts them.
    this.#listener.maxHeadersCount = 0;
    this.#takeOver();
    const onMessage = (message: Http1Message, outgoing: OutgoingMessage): void => {
      this.#http1.get(message.socket)?.messageReceived(message, outgoing);
    };
    this.#listener.on('request', onMessage);
    // `100 Continue` is sent when the content is wanted; other expectations are ignored.
    this.#listener.on('checkContinue', onMessage);
    this.#listener.on('checkExpectation', onMessage);
    this.#listener.on('upgrade', (message: Http1Message, socket, head) => {
      this.#http1.get(socket as Socket)?.upgradeReceived(message, head);
    });
    this.#listener.on('connect', (_message, socket) => this.#http1.get(socket as Socket)?.failed('malformed'));
    this.#listener.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const connection = this.#http1.get(socket as Socket);
      const fault = faultOf(error);
      if (connection === undefined) socket.destroy();
      else if (fault === 'too_slow') connection.late();
      else connection.failed(fault);
    });
  }

  /** The port that is listened on. */
  async listen(options: ListenOptions): Promise<number> {
    this.#listener.listen(options);
    await once(this.#listener, 'listening');
    this.#listener.on('error', (error) => this.#limit.acceptFailed(error));
    const address = this.#listener.address();
    if (address === null || typeof address === 'string') throw new Error('the listener has no port');
    this.#rounds = setInterval(() => this.#check(), this.#roundMs).unref();
    return address.port;
  }

  /** For connections that begin from now on. Throws where the listener has no TLS. */
  setTlsIdentity(identity: TlsIdentity): void {
    if (this.#secure === null) throw new Error('the listener has no TLS');
    this.#secure.setSecureContext({ ...identity });
  }

  /** Every response from now on is the last one of its connection. New ones are still accepted. */
  endPersistence(): void {
    this.persistent = false;
  }

  /** Stops accepting, closes connections without a request, and the others after the response that they wait for. */
  close(): void {
    this.endPersistence();
    this.closing = true;
    // Not Node's own `close`, which also resets connections that were opened a moment ago for a request.
    NetServer.prototype.close.call(this.#listener);
    for (const connection of this.#http1.values()) connection.closeIfIdle();
    for (const session of this.#http2) session.close();
    this.#stopRounds();
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#accepted.size;
  }

  closeAllConnections(): void {
    for (const accepted of this.#accepted) accepted.destroy();
  }

  /** Node's own handling of a connection, with the limit of connections and the choice of the protocol before it. */
  #takeOver(): void {
    const [accept] = this.#listener.listeners('connection');
    this.#listener.removeAllListeners('connection');
    this.#listener.on('connection', (socket: Socket) => {
      const accepted = this.#accept(socket);
      if (accepted === null) {
        socket.destroy();
        return;
      }
      socket.on('close', () => this.#closed(accepted));
      if (this.#secure === null) this.#openHttp1(socket, accepted);
      else this.#beginHandshake(socket, accepted);
      accept?.call(this.#listener, socket);
    });
    if (this.#secure === null) return;
    const [serveHttp1] = this.#secure.listeners('secureConnection');
    this.#secure.removeAllListeners('secureConnection');
    this.#secure.on('secureConnection', (socket: TLSSocket) => {
      const accepted = this.#handshakes.get(portOf(socket));
      // It was closed meanwhile.
      if (accepted === undefined) socket.destroy();
      else if (socket.alpnProtocol === 'h2') this.#openHttp2(socket, accepted);
      else {
        this.#openHttp1(socket, accepted);
        serveHttp1?.call(this.#secure, socket);
      }
    });
  }

  /** Null where it is not kept. */
  #accept(socket: Socket): Accepted | null {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const address = peer === '' || this.#isProxy(peer) ? null : clientNetwork(peer);
    if (this.#limit.isNear(this.#accepted.size)) this.#makeRoom(address);
    if (!this.#limit.mayKeep(this.#accepted.size, this.#accepted.sizeOf(address))) return null;
    const accepted = new Accepted(socket, address, this.round);
    this.#accepted.add(accepted);
    return accepted;
  }

  #makeRoom(address: string | null): void {
    const idle = this.#accepted.idleOfBusiest();
    if (idle === null) return;
    // Clients of one address that connect at the same moment close none of each other's connections while there are places.
    const isOfBurst = idle.address === address && (idle.idleSinceRound ?? 0) >= this.round - 1;
    if (isOfBurst && !this.#limit.isFull(this.#accepted.size)) return;
    idle.destroy();
    this.#closed(idle);
    this.#limit.idleClosed();
  }

  /** At once for one that is closed here: its place is free before its socket says so. */
  #closed(accepted: Accepted): void {
    if (!this.#accepted.delete(accepted)) return;
    if (accepted.served) this.#served -= 1;
    this.#stopRounds();
  }

  #beginHandshake(socket: Socket, accepted: Accepted): void {
    const port = portOf(socket);
    this.#handshakes.set(port, accepted);
    socket.on('close', () => {
      if (this.#handshakes.get(port) === accepted) this.#handshakes.delete(port);
    });
  }

  #openHttp1(socket: Socket, accepted: Accepted): void {
    const connection = new Http1Connection(socket, this, this.#admit(accepted));
    accepted.protocol = connection;
    this.#http1.set(socket, connection);
    socket.on('close', () => this.#http1.delete(socket));
  }

  #openHttp2(socket: TLSSocket, accepted: Accepted): void {
    const session = new Http2Session(socket, this, this.#admit(accepted));
    accepted.protocol = session;
    this.#http2.add(session);
    session.onClose(() => this.#http2.delete(session));
    if (this.closing) session.close();
  }

  /** Null where it is served. */
  #admit(accepted: Accepted): RequestFault | null {
    const others = this.#accepted.sizeOf(accepted.address) - 1;
    const fault = this.#limit.fault(this.#served, others);
    accepted.served = fault === null;
    if (accepted.served) this.#served += 1;
    return fault;
  }

  #check(): void {
    this.round += 1;
    for (const connection of this.#http1.values()) connection.check();
    for (const session of this.#http2) session.check();
  }

  #stopRounds(): void {
    if (!this.closing || this.#accepted.size > 0) return;
    if (this.#rounds) clearInterval(this.#rounds);
    // Ends Node's own checks of time-outs as well.
    this.#listener.close();
  }
}

function portOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Null where the connection itself has failed. */
function faultOf({ code = '' }: NodeJS.ErrnoException): RequestFault | null {
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'too_slow';
  return code.startsWith('HPE_') ? 'malformed' : null;
}
