/**
 * One connection of a client. Its requests are served one at a time: the head of the next one is parsed when the response
 * to the one before has been written, in another turn of the event loop. Meanwhile the socket is still read from, within
 * a bound, because only a socket that is read from tells that the client has closed it.
 */
import type { Socket } from 'node:net';
import { Http1Error, type RequestFault } from '../../errors.ts';
import { refusalBytes } from '../../head-lines.ts';
import { LINGER_BYTES_MAX, LINGER_MS, UNWANTED_BYTES_MAX } from '../../linger.ts';
import type { RequestHead } from '../../request-head.ts';
import type { BodySink, RequestHandler, ServerLimits } from '../../server.ts';
import { BodyReader } from '../body.ts';
import { HeadReader } from '../head.ts';
import { ReceiveBuffer } from '../receive-buffer.ts';
import { HeadCache } from './head-cache.ts';
import { type BodySource, LeanRequest, readRequestHead } from './request.ts';
import { LeanResponse, type ResponseChannel } from './response.ts';

/** Larger heads are not cached, and nothing is after so many that were cached and never repeated. */
const CACHED_HEAD_BYTES_MAX = 4 * 1_024;
const CACHE_MISSES_MAX = 3;
/** More than this is not read ahead of a request that is being served. */
const RECEIVED_BYTES_MAX = 64 * 1_024;
const RECEIVED_CHUNKS_MAX = 64;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

/** The server, as its connections see it. Time is counted in rounds: how often it has checked them. */
export interface ConnectionOwner {
  readonly handler: RequestHandler;
  readonly limits: Pick<ServerLimits, 'headerBytes' | 'headerCount'>;
  readonly keepAliveLines: string;
  readonly round: number;
  readonly headRoundsMax: number;
  readonly requestRoundsMax: number;
  readonly idleRoundsMax: number;
  /** Whether connections are used for more than one response. */
  readonly persistent: boolean;
  readonly closing: boolean;
  connectionClosed(connection: Connection): void;
}

/**
 * `head`: between two requests, or within a head. `request`: there is one, and its content or its response is not
 * complete. `flush`: both are, but much of the response has not been sent yet. `closing`: what still arrives is dropped.
 */
type Phase = 'head' | 'request' | 'flush' | 'closing';

export class Connection implements ResponseChannel, BodySource {
  readonly socket: Socket;
  readonly #owner: ConnectionOwner;
  /** Opened beyond the limit of connections: it is served nothing but the reason. */
  readonly excess: boolean;
  readonly #heads: HeadReader;
  readonly #received = new ReceiveBuffer();
  #cache: HeadCache | null = null;
  #cacheMisses = 0;
  #phase: Phase = 'head';
  /** The round in which the request began to arrive, or the connection to be idle. */
  #since: number;
  /** Whether a request has been served. */
  #used = false;
  #request: LeanRequest | null = null;
  #response: LeanResponse | null = null;
  #ended = false;
  #keeps = true;
  /** Null when the content is complete. */
  #body: BodyReader | null = null;
  #sink: BodySink | null = null;
  #continued = false;
  #unwantedBytes = 0;
  #advancing = false;
  /** The next request has been received and waits for another turn of the event loop. */
  #yielding = false;
  #paused = false;
  #lingerBytes = 0;
  #linger: NodeJS.Timeout | null = null;
  readonly #take = (piece: Buffer): void => {
    if (this.#sink) this.#sink.onData(piece);
    else this.#unwantedBytes += piece.length;
  };

  constructor(socket: Socket, owner: ConnectionOwner, excess: boolean) {
    this.socket = socket;
    this.#owner = owner;
    this.excess = excess;
    this.#heads = new HeadReader(owner.limits.headerBytes, { skipsEmptyLine: true });
    this.#since = owner.round;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('drain', () => this.#onDrain());
    socket.on('close', () => this.#onClose());
    // A close follows, which is what counts.
    socket.on('error', () => {});
  }

  get keepAliveLines(): string {
    return this.#owner.keepAliveLines;
  }

  get remoteAddress(): string {
    return this.socket.remoteAddress ?? '';
  }

  keepsAlive(framed: boolean): boolean {
    this.#keeps =
      framed && this.#owner.persistent && this.#request?.head.keepAlive === true && this.#canFinishContent();
    return this.#keeps;
  }

  responseEnded(): void {
    this.#ended = true;
    this.#sink?.onAborted();
    this.#sink = null;
    if (this.#keeps) this.#advance();
    else this.#close();
  }

  readBody(request: LeanRequest, sink: BodySink): void {
    if (request !== this.#request || this.#phase !== 'request' || this.#ended) {
      sink.onAborted();
      return;
    }
    if (this.#body === null) {
      sink.onEnd();
      return;
    }
    this.#sink = sink;
    if (request.expectsContinue && this.#received.bytes === 0) {
      this.#continued = true;
      this.socket.write(CONTINUE, 'latin1');
    }
    // Within `onRequest`, what has arrived is given at once; what comes behind it waits for the end of `onRequest`.
    if (this.#advancing) this.#readContent();
    else this.#advance();
  }

  /** Once per round of the owner. */
  check(): void {
    const { round, headRoundsMax, requestRoundsMax, idleRoundsMax } = this.#owner;
    const rounds = round - this.#since;
    if (this.#idle) {
      if (rounds > idleRoundsMax) this.#close();
    } else if (this.#phase === 'head') {
      if (rounds <= headRoundsMax) return;
      if (this.socket.bytesRead === 0) this.#close();
      else this.#refuse('too_slow');
    } else if (this.#phase === 'request' && this.#body !== null) {
      if (rounds > requestRoundsMax) this.#refuse('too_slow');
    } else if (this.#phase !== 'request' && rounds > requestRoundsMax) {
      // The rest of a response must be taken within the time that a request may take.
      this.socket.destroy();
    }
  }

  closeIfIdle(): void {
    if (this.#idle) this.#close();
  }

  /** A new connection is not: its client has opened it for a request. */
  get #idle(): boolean {
    return this.#phase === 'head' && this.#used && !this.#yielding && !this.#heads.begun;
  }

  #onData(chunk: Buffer): void {
    if (this.#phase === 'closing') {
      this.#lingerBytes += chunk.length;
      if (this.#lingerBytes > LINGER_BYTES_MAX) this.socket.destroy();
      return;
    }
    this.#received.push(chunk);
    this.#advance();
  }

  /** A client that closes its side alone has closed the connection: nobody waits for the response. */
  #onEnd(): void {
    if (this.#phase === 'closing') return;
    const withinHead = this.#phase === 'head' && this.#heads.begun;
    if (withinHead || this.#sink !== null) this.#refuse('malformed');
    else this.#close();
  }

  #onDrain(): void {
    this.#response?.drained();
    if (this.#phase === 'flush' && this.#next()) this.#advance();
  }

  #onClose(): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#phase = 'closing';
    this.#abandon();
    this.#owner.connectionClosed(this);
  }

  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      while (!this.#yielding && this.#step());
    } finally {
      this.#advancing = false;
    }
    const { bytes, chunks } = this.#received;
    if ((bytes > RECEIVED_BYTES_MAX || chunks > RECEIVED_CHUNKS_MAX) && !this.#paused) {
      this.#paused = true;
      this.socket.pause();
    } else if (bytes === 0 && this.#paused) this.#resume();
  }

  /** False when something must happen first. */
  #step(): boolean {
    if (this.#phase === 'head') return this.#readHead();
    if (this.#phase !== 'request') return false;
    if (this.#body !== null) return (this.#sink !== null || this.#ended) && this.#readContent();
    return this.#ended && this.#next();
  }

  #readHead(): boolean {
    const chunk = this.#received.current;
    if (chunk === null) return false;
    if (!this.#heads.begun) this.#since = this.#owner.round;
    let request: LeanRequest | null;
    try {
      request = this.#cachedRequest(chunk) ?? this.#parseRequest(chunk);
    } catch (error) {
      this.#refuse(faultOf(error));
      return false;
    }
    if (request === null) return true;
    this.#request = request;
    this.#body = request.framing && new BodyReader(request.framing);
    if (this.excess) {
      this.#refuse('too_many_connections');
      return false;
    }
    this.#response = new LeanResponse(request, this);
    this.#phase = 'request';
    this.#owner.handler.onRequest(request, this.#response);
    return true;
  }

  #cachedRequest(chunk: Buffer): LeanRequest | null {
    const cache = this.#cache;
    if (cache === null || !this.#heads.empty || !cache.matches(chunk, this.#received.at)) return null;
    this.#received.at = cache.end;
    return new LeanRequest(cache.head, cache.framing, this);
  }

  /** Null where more of its head must arrive. Throws an Http1Error. */
  #parseRequest(chunk: Buffer): LeanRequest | null {
    const from = this.#received.at;
    const inOnePiece = this.#heads.empty;
    const lines = this.#heads.push(chunk, from);
    this.#received.at = lines === null ? chunk.length : this.#heads.rest;
    if (lines === null) return null;
    const head = readRequestHead(lines, this.#owner.limits.headerCount);
    // Most connections that bring a second request bring more of them.
    if (this.#used && inOnePiece) this.#cacheHead(chunk.subarray(from, this.#heads.rest), head);
    return new LeanRequest(head, head.framing, this);
  }

  #cacheHead(bytes: Buffer, head: RequestHead): void {
    if (this.#cache?.used === false) this.#cacheMisses += 1;
    const worth = bytes.length <= CACHED_HEAD_BYTES_MAX && this.#cacheMisses < CACHE_MISSES_MAX;
    this.#cache = worth ? new HeadCache(bytes, head) : null;
  }

  /** False when more must arrive first, or nothing will. */
  #readContent(): boolean {
    const body = this.#body;
    while (body !== null && !body.done) {
      const chunk = this.#received.current;
      if (chunk === null) return false;
      try {
        this.#received.at = body.push(chunk, this.#received.at, this.#take);
      } catch (error) {
        this.#refuse(faultOf(error));
        return false;
      }
      if (this.#unwantedBytes > UNWANTED_BYTES_MAX) this.#close();
      if (this.#phase !== 'request') return false;
    }
    this.#body = null;
    const sink = this.#sink;
    this.#sink = null;
    sink?.onEnd();
    return true;
  }

  /** The request and its response are complete. */
  #next(): boolean {
    if (this.socket.writableNeedDrain) {
      this.#phase = 'flush';
      this.#since = this.#owner.round;
      return false;
    }
    this.#phase = 'head';
    this.#request = null;
    this.#response = null;
    this.#ended = false;
    this.#continued = false;
    this.#unwantedBytes = 0;
    this.#used = true;
    this.#since = this.#owner.round;
    if (this.#received.bytes > 0) {
      // A client may send thousands of requests at once: others are served between them.
      this.#yielding = true;
      setImmediate(Connection.#goOn, this);
      return false;
    }
    if (!this.#owner.closing) return true;
    this.#close();
    return false;
  }

  static #goOn(connection: Connection): void {
    connection.#yielding = false;
    connection.#advance();
  }

  /** A client that never got its `100 Continue` may leave the content out: what it sends next cannot be known. */
  #canFinishContent(): boolean {
    const request = this.#request;
    if (this.#body === null || request === null) return true;
    if (request.expectsContinue && !this.#continued) return false;
    return (request.contentBytes ?? 0) <= UNWANTED_BYTES_MAX;
  }

  #refuse(fault: RequestFault): void {
    if (this.#ended) this.#close();
    else if (this.#response?.headersSent === true) this.socket.destroy();
    else this.#close(refusalBytes(this.#owner.handler.refusal(fault)));
  }

  /** Sends what was written, and closes as soon as the client has closed its side too. */
  #close(last: Buffer = NOTHING): void {
    const complete = last === NOTHING && (this.#response === null || this.#ended);
    // Where only the close ends a response, an orderly one would make it look complete.
    const unframed = !complete && this.#response?.headersSent === true && this.#request?.head.http10 === true;
    this.#phase = 'closing';
    this.#since = this.#owner.round;
    this.#abandon();
    if (unframed) {
      this.socket.resetAndDestroy();
      return;
    }
    if (this.#paused) this.#resume();
    this.socket.end(last, complete ? () => this.#startLinger() : undefined);
    // Only a complete response is waited for.
    if (!complete) this.#startLinger();
  }

  #startLinger(): void {
    if (this.socket.destroyed) return;
    this.#linger ??= setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }

  #abandon(): void {
    this.#received.clear();
    this.#response?.connectionClosed();
    this.#sink?.onAborted();
    this.#sink = null;
  }

  #resume(): void {
    this.#paused = false;
    this.socket.resume();
  }
}

/** Throws what is not about the bytes of the client. */
function faultOf(error: unknown): RequestFault {
  if (error instanceof Http1Error) return error.code;
  throw error;
}

const NOTHING = Buffer.alloc(0);
