/**
 * The default listener: `node:http`, and with a certificate `node:https`, whose clients may choose HTTP/2. Node parses,
 * frames and times out; what is checked beyond that is in `http1-connection.ts` and `http2-session.ts`.
 */
import { createServer, type ServerResponse as OutgoingMessage, type Server } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Log } from '../../../core/log.ts';
import { ConnectionLimit } from '../../connection-limit.ts';
import type { RequestFault } from '../../errors.ts';
import { listenOn } from '../../listen.ts';
import type { ListenOptions, RequestHandler, ServerLimits, ServerTransport, TlsIdentity } from '../../server.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http1Message } from './http1-request.ts';
import { Http2Session } from './http2-session.ts';

/** How often the connections are checked for time-outs. */
const ROUND_MS_MAX = 5_000;

export interface NodeServerOptions {
  readonly limits: ServerLimits;
  readonly handler: RequestHandler;
  readonly log: Log;
  /** Null: plain HTTP. */
  readonly tls: TlsIdentity | null;
}

export class NodeServer implements ServerTransport {
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
  readonly #sockets = new Set<Socket>();
  readonly #http1 = new Map<Socket, Http1Connection>();
  readonly #http2 = new Set<Http2Session>();
  /** How many of them are served; the others are refused. */
  #served = 0;
  readonly #roundMs: number;
  #rounds: NodeJS.Timeout | null = null;

  constructor({ limits, handler, log, tls }: NodeServerOptions) {
    const roundMs = Math.ceil(Math.min(ROUND_MS_MAX, limits.headersTimeoutMs / 4));
    this.limits = limits;
    this.handler = handler;
    this.#roundMs = roundMs;
    this.keepAlive = `timeout=${Math.floor(limits.keepAliveTimeoutMs / 1_000)}`;
    this.headRoundsMax = Math.ceil(limits.headersTimeoutMs / roundMs);
    this.requestRoundsMax = Math.ceil(limits.requestTimeoutMs / roundMs);
    this.idleRoundsMax = Math.ceil(limits.keepAliveTimeoutMs / roundMs);
    this.#limit = new ConnectionLimit(limits.connections, log);
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
    this.#listener.on('connect', (_message, socket) => this.#http1.get(socket as Socket)?.failed('malformed'));
    this.#listener.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      const connection = this.#http1.get(socket as Socket);
      const fault = faultOf(error);
      if (connection === undefined) socket.destroy();
      else if (fault === 'too_slow') connection.late();
      else connection.failed(fault);
    });
  }

  async listen(options: ListenOptions): Promise<number> {
    const port = await listenOn(this.#listener, options, (error) => this.#limit.acceptFailed(error));
    this.#rounds = setInterval(() => this.#check(), this.#roundMs).unref();
    return port;
  }

  setTlsIdentity(identity: TlsIdentity): void {
    if (this.#secure === null) throw new Error('the listener has no TLS');
    this.#secure.setSecureContext({ ...identity });
  }

  endPersistence(): void {
    this.persistent = false;
  }

  close(): void {
    this.endPersistence();
    this.closing = true;
    // Not Node's own `close`, which also resets connections that were opened a moment ago for a request.
    NetServer.prototype.close.call(this.#listener);
    for (const connection of this.#http1.values()) connection.closeIfIdle();
    for (const session of this.#http2) session.close();
    this.#stopRounds();
  }

  get connections(): number {
    return this.#sockets.size;
  }

  closeAllConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Node's own handling of a connection, with the limit of connections and the choice of the protocol before it. */
  #takeOver(): void {
    const [accept] = this.#listener.listeners('connection');
    this.#listener.removeAllListeners('connection');
    this.#listener.on('connection', (socket: Socket) => {
      if (!this.#limit.mayKeep(this.#sockets.size)) {
        socket.destroy();
        return;
      }
      this.#sockets.add(socket);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#stopRounds();
      });
      if (this.#secure === null) this.#openHttp1(socket);
      accept?.call(this.#listener, socket);
    });
    if (this.#secure === null) return;
    const [serveHttp1] = this.#secure.listeners('secureConnection');
    this.#secure.removeAllListeners('secureConnection');
    this.#secure.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#openHttp2(socket);
      else {
        this.#openHttp1(socket);
        serveHttp1?.call(this.#secure, socket);
      }
    });
  }

  #openHttp1(socket: Socket): void {
    this.#http1.set(socket, new Http1Connection(socket, this, !this.#admit(socket)));
    socket.on('close', () => this.#http1.delete(socket));
  }

  #openHttp2(socket: TLSSocket): void {
    const excess = !this.#admit(socket);
    const session = new Http2Session(socket, this, excess);
    this.#http2.add(session);
    session.onClose(() => this.#http2.delete(session));
    if (this.closing) session.close();
  }

  #admit(socket: Socket): boolean {
    if (!this.#limit.mayServe(this.#served)) return false;
    this.#served += 1;
    socket.on('close', () => {
      this.#served -= 1;
    });
    return true;
  }

  #check(): void {
    this.round += 1;
    for (const connection of this.#http1.values()) connection.check();
    for (const session of this.#http2) session.check();
  }

  #stopRounds(): void {
    if (!this.closing || this.#sockets.size > 0) return;
    if (this.#rounds) clearInterval(this.#rounds);
    // Ends Node's own checks of time-outs as well.
    this.#listener.close();
  }
}

/** Null where the connection itself has failed. */
function faultOf({ code = '' }: NodeJS.ErrnoException): RequestFault | null {
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'too_large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'too_slow';
  return code.startsWith('HPE_') ? 'malformed' : null;
}
