/** One connection of a client that speaks HTTP/2: its requests are streams, served side by side. */
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type SessionOptions,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { Http1Error, type RequestFault } from '../errors.ts';
import type { ServerLimits } from '../server.ts';
import type { ConnectionOwner } from './http1-connection.ts';
import { Http2Request, readStreamHead } from './http2-request.ts';
import { giveUp, Http2Response, refuseStream } from './http2-response.ts';

/** Streams of one connection at the same time: what the RFC asks for at least. */
const STREAMS_MAX = 100;
/**
 * A client can open more of them in one turn of the event loop only by resetting what it has opened; some, because it has
 * changed its mind. `nghttp2` bounds how many it resets, but goes on with all that has been read: thousands of requests.
 */
const STREAMS_IN_A_TURN_MAX = 3 * STREAMS_MAX;
/** Node counts pseudo-headers too; what is a little over the limit is refused with a status instead of a reset. */
const HEADERS_BESIDE = 32;

const { NGHTTP2_ENHANCE_YOUR_CALM } = constants;

interface SessionOwner extends ConnectionOwner {
  readonly headRoundsMax: number;
  readonly idleRoundsMax: number;
}

/** A stream that is not closed yet. */
interface OpenStream {
  readonly stream: ServerHttp2Stream;
  /** Null where it was refused. */
  readonly request: Http2Request | null;
  /** The first round that found its response complete: it must be taken within the time that a request may take. */
  endedAtRound: number | null;
}

function sessionOptions(limits: ServerLimits): SessionOptions {
  return {
    maxHeaderListPairs: limits.headerCount + HEADERS_BESIDE,
    settings: { enablePush: false, maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: 2 * limits.headerBytes },
  };
}

export class Http2Session {
  readonly #socket: TLSSocket;
  readonly #session: ServerHttp2Session;
  readonly #owner: SessionOwner;
  /** Why it is not served, where it was opened beyond a limit; null: it is. */
  readonly #refused: RequestFault | null;
  readonly #streams = new Set<OpenStream>();
  /** Whether a request has been served. */
  #used = false;
  /** The round in which the last stream was closed, or the session opened. */
  #closedAtRound: number;
  #openedInTurn = 0;
  /** The first round that found the session ended, while its connection is still open. */
  #endedAtRound: number | null = null;

  constructor(socket: TLSSocket, owner: SessionOwner, refused: RequestFault | null) {
    this.#socket = socket;
    this.#session = performServerHandshake(socket, sessionOptions(owner.limits));
    this.#owner = owner;
    this.#refused = refused;
    this.#closedAtRound = owner.round;
    // A close follows, which is what counts.
    this.#session.on('error', () => {});
    this.#session.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
        this.#onStream(stream, headers, raw);
      },
    );
  }

  /** Null while it has a stream. */
  get idleSinceRound(): number | null {
    return this.#streams.size === 0 ? this.#closedAtRound : null;
  }

  onClose(listener: () => void): void {
    this.#session.on('close', listener);
  }

  /** Accepts no new streams, and closes the connection after the last one. */
  close(): void {
    if (!this.#session.closed) this.#session.close();
  }

  /** Once per round of the owner. */
  check(): void {
    const { round, headRoundsMax, idleRoundsMax } = this.#owner;
    if (this.#session.destroyed) {
      // Node waits for the client to take what is left, however long that takes.
      this.#endedAtRound ??= round;
      if (round > this.#endedAtRound) this.#socket.destroy();
    } else if (this.#streams.size > 0) this.#checkStreams();
    else if (round - this.#closedAtRound > (this.#used ? idleRoundsMax : headRoundsMax)) this.#session.destroy();
  }

  #checkStreams(): void {
    const { round, requestRoundsMax } = this.#owner;
    let untaken = 0;
    for (const open of this.#streams) {
      if (open.request !== null && round - open.request.since > requestRoundsMax) open.request.timedOut();
      if (!open.stream.writableEnded) continue;
      open.endedAtRound ??= round;
      if (round - open.endedAtRound <= requestRoundsMax) continue;
      untaken += 1;
      giveUp(open.stream);
    }
    // Other streams of the connection may be those of other users of a proxy.
    if (untaken === this.#streams.size && round - this.#closedAtRound > requestRoundsMax) this.#socket.destroy();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#used = true;
    stream.on('error', () => {});
    if (this.#openedInTurn === 0) setImmediate(Http2Session.#nextTurn, this);
    this.#openedInTurn += 1;
    if (this.#openedInTurn > STREAMS_IN_A_TURN_MAX) this.#session.destroy(undefined, NGHTTP2_ENHANCE_YOUR_CALM);
    if (this.#session.destroyed) return;
    let fault = this.#refused;
    try {
      const head = readStreamHead(headers, raw, this.#owner.limits);
      if (fault === null) {
        this.#serve(new Http2Request(head, stream, this.#owner.round));
        return;
      }
    } catch (error) {
      if (!(error instanceof Http1Error)) throw error;
      fault = error.code;
    }
    this.#opened({ stream, request: null, endedAtRound: null });
    refuseStream(stream, this.#owner.handler.refusal(fault));
    if (this.#refused !== null) this.close();
  }

  static #nextTurn(session: Http2Session): void {
    session.#openedInTurn = 0;
  }

  #serve(request: Http2Request): void {
    const { handler } = this.#owner;
    const { stream } = request;
    const response = new Http2Response(request, (fault) => handler.refusal(fault));
    this.#opened({ stream, request, endedAtRound: null });
    stream.on('close', () => {
      request.abort();
      response.connectionClosed();
    });
    handler.onRequest(request, response);
  }

  #opened(open: OpenStream): void {
    this.#streams.add(open);
    open.stream.on('close', () => {
      this.#streams.delete(open);
      this.#closedAtRound = this.#owner.round;
    });
  }
}
