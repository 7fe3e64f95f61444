/**
 * One connection of a client that speaks HTTP/1.1, parsed by `node:http`. Node hands over every request as soon as it is
 * parsed; here they are served one at a time and in separate turns of the event loop, and what Node's parser accepts
 * although it could be read in two ways is refused.
 */
import type { ServerResponse as OutgoingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ServerResponse, STATUS_CODES, validateHeaderValue } from '../../lib/node-http.ts';
import { stopParsing } from '../../lib/stop-parsing.ts';
import { Http1Error, type RequestFault } from '../errors.ts';
import type { Refusal, RequestHandler, ServerLimits } from '../server.ts';
import { type Http1Message, Http1Request, headOf, type RequestOwner } from './http1-request.ts';
import { Http1Response, type ResponseOwner } from './http1-response.ts';
import { Http1Upgrade } from './http1-upgrade.ts';

/**
 * So many requests may wait for the one that is being served; with one more, the connection closes after them. Each costs
 * a hundred times the bytes that its client has sent for it.
 */
export const WAITING_MAX = 16;
/** Content that nobody wants is read to its end, so that the connection can be kept; not more than this. */
const UNWANTED_BYTES_MAX = 128 * 1_024 * 1_024;
/**
 * A peer that is still sending when its connection is closed loses the response to a reset. So what it sends is read and
 * dropped for a while, within these bounds.
 */
const LINGER_MS = 2_000;
const LINGER_BYTES_MAX = 8 * 1_024 * 1_024;

/** The server, as its connections see it. Time is counted in rounds: how often it has checked them. */
export interface ConnectionOwner {
  readonly handler: RequestHandler;
  readonly limits: ServerLimits;
  /** The value of the Keep-Alive header. */
  readonly keepAlive: string;
  readonly round: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  /** Whether connections are used for more than one response. */
  readonly persistent: boolean;
  readonly closing: boolean;
}

interface Exchange {
  readonly request: Http1Request;
  readonly response: Http1Response;
  readonly outgoing: OutgoingMessage;
}

export class Http1Connection implements RequestOwner, ResponseOwner {
  readonly socket: Socket;
  readonly #owner: ConnectionOwner;
  /** Why it is not served, where it was opened beyond a limit; null: it is. */
  readonly #refused: RequestFault | null;
  /** The one that is being served, or the last one that was. */
  #current: Exchange | null = null;
  #keeps = true;
  readonly #waiting: Exchange[] = [];
  /** What is wrong behind the requests that wait. */
  #fault: RequestFault | null = null;
  #yielding = false;
  /** What the socket had read when the current request was begun. */
  #servedAtBytes = -1;
  #closing = false;
  /** Its client asks for a WebSocket, or has one: no request can follow. */
  #leavesHttp = false;
  /** What the socket had read when the fault was found. */
  #faultAtBytes = 0;
  #linger: NodeJS.Timeout | null = null;
  /** The round in which the last response ended: it must be taken within the time that a request may take. */
  #endedAtRound: number;

  /** To be made before `node:http` adds its listeners: the end of the client's side must be seen here first. */
  constructor(socket: Socket, owner: ConnectionOwner, refused: RequestFault | null) {
    this.socket = socket;
    this.#owner = owner;
    this.#refused = refused;
    this.#endedAtRound = owner.round;
    socket.on('end', () => this.#onEnd());
    socket.on('close', () => this.#onClose());
    socket.on('drain', () => this.#serveNext());
  }

  messageReceived(message: Http1Message, outgoing: OutgoingMessage): void {
    if (this.#closing || this.#fault !== null) {
      message.resume();
      stopParsing(this.socket);
      return;
    }
    try {
      const request = new Http1Request(headOf(message, this.#owner.limits.headerCount), message, outgoing, this);
      if (this.#refused !== null) this.#fault = this.#refused;
      else if (this.#waiting.length === WAITING_MAX) this.#fault = 'too_many_waiting';
      else this.#add({ request, response: new Http1Response(outgoing, request, this), outgoing });
    } catch (error) {
      if (!(error instanceof Http1Error)) throw error;
      this.#fault = error.code;
    }
    if (this.#fault === null) return;
    this.#faultAtBytes = this.socket.bytesRead;
    message.resume();
    stopParsing(this.socket);
    this.#serveNext();
  }

  /** Only as the first request, or after the response to the one before. `head`: what has come behind it. */
  upgradeReceived(message: Http1Message, head: Buffer): void {
    const { socket } = this;
    // Nobody else listens, now that Node does not.
    socket.on('error', () => {});
    const fault = this.#refused ?? (this.#free && this.#waiting.length === 0 ? null : 'malformed');
    if (this.#closing || this.#fault !== null) socket.destroy();
    else if (fault !== null) this.failed(fault);
    else {
      try {
        const outgoing = new ServerResponse(message);
        const request = new Http1Request(headOf(message, this.#owner.limits.headerCount), message, outgoing, this);
        const response = new Http1Upgrade(outgoing, request, this, head);
        this.#leavesHttp = true;
        outgoing.assignSocket(socket);
        outgoing.once('finish', () => this.#endSlowly());
        this.#current = { request, response, outgoing };
        this.#owner.handler.onUpgrade(request, response);
      } catch (error) {
        if (!(error instanceof Http1Error)) throw error;
        this.failed(error.code);
      }
    }
  }

  /** What Node's parser or its timers found wrong; null: the socket itself has failed. */
  failed(fault: RequestFault | null): void {
    if (fault === null) this.socket.destroy();
    else if (this.#closing || this.#fault !== null) {
      // A client that does not stop sending is not read for ever.
      if (this.socket.bytesRead - this.#faultAtBytes > LINGER_BYTES_MAX) this.socket.destroy();
    } else if (this.#waiting.length === 0 && (this.#free || this.#current?.request.received === false)) {
      this.#refuse(fault);
    } else {
      // The last request that waits may be the one that it concerns.
      if (this.#waiting.at(-1)?.request.received === false) this.#waiting.pop();
      this.#fault = fault;
      this.#faultAtBytes = this.socket.bytesRead;
    }
  }

  /**
   * Node's timers found a request too slow: the one whose content is incomplete, or one that has no head yet. What the kernel has
   * received is read before that counts: a process that was held up must not take its own pause for the slowness of a client.
   */
  late(): void {
    const late = this.#newest;
    const content = late?.received === false;
    setImmediate(() => {
      const newest = this.#newest;
      if (newest?.received === true && (content || newest !== late)) return;
      // A refusal answers a request: without the first byte of one there is nothing to answer.
      if (this.socket.bytesRead === 0) this.#close(NOTHING);
      else this.failed('too_slow');
    });
  }

  contentRefused({ code }: Http1Error): void {
    this.#refuse(code);
  }

  contentDropped(bytes: number): void {
    if (bytes > (this.#closing ? LINGER_BYTES_MAX : UNWANTED_BYTES_MAX)) this.socket.destroy();
  }

  contentInTinyChunks(): void {
    this.failed('tiny_chunks');
  }

  get keepAlive(): string {
    return this.#owner.keepAlive;
  }

  keepsAlive(framed: boolean): boolean {
    const request = this.#current?.request;
    const canFinish =
      request !== undefined &&
      (request.received || (!request.awaitsContinue && (request.contentBytes ?? 0) <= UNWANTED_BYTES_MAX));
    this.#keeps = framed && canFinish && this.#owner.persistent && request.head.keepAlive && !this.#leavesHttp;
    return this.#keeps;
  }

  responseEnded(): void {
    const current = this.#current;
    if (current === null) return;
    const { request, outgoing } = current;
    this.#endedAtRound = this.#owner.round;
    request.abort();
    if (!this.#keeps) {
      const more = !request.received || this.#waiting.length > 0;
      this.#closing = true;
      this.#faultAtBytes = this.socket.bytesRead;
      this.#waiting.length = 0;
      // Node would close at once when the response is sent, and a client that is still sending would lose it.
      if (more) this.socket.destroySoon = () => this.#endSlowly();
      if (!request.received) request.discard();
    } else if (this.#waiting.length > 0 || this.#fault !== null) {
      this.#yield();
    } else if (!request.received) request.discard();
    // The head was sent before the server began to close.
    else if (this.#owner.closing) outgoing.once('finish', () => this.socket.destroySoon());
  }

  /** Once per round of the owner. */
  check(): void {
    const { round, requestRoundsMax, idleRoundsMax } = this.#owner;
    const rounds = round - this.#endedAtRound;
    if (this.#isWebSocket) return;
    if (!this.#closing && this.#current?.response.ended !== true) return;
    if (this.socket.writableLength > 0) {
      if (rounds > requestRoundsMax) this.socket.destroy();
    } else if (rounds > idleRoundsMax) this.closeIfIdle();
  }

  /** Null while a request of it is served, or its response is on the way. */
  get idleSinceRound(): number | null {
    if (this.#isWebSocket) return null;
    const idle = (this.#closing || (this.#free && this.#waiting.length === 0)) && this.socket.writableLength === 0;
    return idle ? this.#endedAtRound : null;
  }

  /** A new connection is not: its client has opened it for a request. */
  closeIfIdle(): void {
    if (this.#isWebSocket) return;
    if (this.#current !== null && this.#free && this.#waiting.length === 0) this.#close(NOTHING);
  }

  /** Whoever has accepted it closes it, too. */
  get #isWebSocket(): boolean {
    return this.#leavesHttp && !this.#closing && this.#fault === null;
  }

  /** Whether nothing is being served, and what was has been received to its end. */
  get #free(): boolean {
    return this.#current === null || (this.#current.response.ended && this.#current.request.received);
  }

  /** The last request whose head has arrived. */
  get #newest(): Http1Request | undefined {
    return (this.#waiting.at(-1) ?? this.#current)?.request;
  }

  #add(exchange: Exchange): void {
    this.#waiting.push(exchange);
    if (this.#waiting.length === 1) {
      // Node's parser has found it in the same bytes as the one before.
      if (this.#current !== null && this.#servedAtBytes === this.socket.bytesRead) this.#yield();
      else this.#serveNext();
    }
  }

  #serveNext(): void {
    if (this.#closing || this.#yielding || !this.#free || this.socket.writableNeedDrain) return;
    const next = this.#waiting.shift();
    if (next === undefined) {
      if (this.#fault !== null) this.#refuse(this.#fault);
      return;
    }
    this.#current = next;
    this.#servedAtBytes = this.socket.bytesRead;
    this.#owner.handler.onRequest(next.request, next.response);
  }

  /** A client may send thousands of requests at once: others are served between them. */
  #yield(): void {
    if (this.#yielding) return;
    this.#yielding = true;
    setImmediate(Http1Connection.#goOn, this);
  }

  static #goOn(connection: Http1Connection): void {
    connection.#yielding = false;
    connection.#serveNext();
  }

  #refuse(fault: RequestFault): void {
    const current = this.#current;
    const serving = current !== null && !current.response.ended;
    if (serving && current.response.headersSent) this.socket.destroy();
    else if (serving || this.#free) this.#close(refusalBytes(this.#owner.handler.refusal(fault)));
    // The request has been answered already; only the rest of its content is at fault.
    else this.#close(NOTHING);
  }

  #close(last: Buffer): void {
    this.#closing = true;
    this.#endedAtRound = this.#owner.round;
    this.#faultAtBytes = this.socket.bytesRead;
    this.#current?.request.discard();
    this.#abandon();
    this.#endSlowly(last);
  }

  /** Closes as soon as the client has closed its side too. */
  #endSlowly(last: Buffer = NOTHING): void {
    this.socket.end(last);
    if (this.socket.destroyed) return;
    // Only a socket that is read from tells that the client has closed its side.
    this.socket.resume();
    this.#linger ??= setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  /** A client that closes its side alone has closed the connection: nobody waits for the response. */
  #onEnd(): void {
    if (this.#closing) return;
    const current = this.#current;
    if (current?.response.endsWithClose === true) this.socket.resetAndDestroy();
    // Node's parser tells of a request that broke off, and closes the socket otherwise.
    else if (current === null || this.#free || current.request.received) {
      this.#closing = !(this.#free && this.#waiting.length === 0);
      this.#abandon();
    }
  }

  #onClose(): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#closing = true;
    this.#abandon();
  }

  #abandon(): void {
    this.#waiting.length = 0;
    this.#current?.request.abort();
    this.#current?.response.connectionClosed();
  }
}

const NOTHING = Buffer.alloc(0);

/** All bytes of the response to a refused request, after which the connection closes. */
function refusalBytes({ status, headers, content }: Refusal): Buffer {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name, value] = [String(headers[i]), String(headers[i + 1])];
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
  }
  head += `content-length: ${content.length}\r\nDate: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), content]);
}
