/** One connection of a client that speaks HTTP/2: its requests are streams, served side by side. */
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream, SessionOptions } from 'node:http2';
import { Http1Error, type RequestFault } from '../../errors.ts';
import type { ServerLimits } from '../../server.ts';
import type { ConnectionOwner } from './http1-connection.ts';
import { Http2Request, readStreamHead } from './http2-request.ts';
import { Http2Response, refuseStream } from './http2-response.ts';

/** Streams of one connection at the same time: what the RFC asks for at least. */
const STREAMS_MAX = 100;
/** Node counts pseudo-headers too; what is a little over the limit is refused with a status instead of a reset. */
const HEADERS_BESIDE = 32;

export interface SessionOwner extends ConnectionOwner {
  readonly headRoundsMax: number;
  readonly idleRoundsMax: number;
}

export function sessionOptions(limits: ServerLimits): SessionOptions {
  return {
    maxHeaderListPairs: limits.headerCount + HEADERS_BESIDE,
    settings: { enablePush: false, maxConcurrentStreams: STREAMS_MAX, maxHeaderListSize: 2 * limits.headerBytes },
  };
}

export class Http2Session {
  readonly #session: ServerHttp2Session;
  readonly #owner: SessionOwner;
  /** Opened beyond the limit of connections: it is served nothing but the reason. */
  readonly #excess: boolean;
  readonly #requests = new Set<Http2Request>();
  /** Whether a request has been served. */
  #used = false;
  /** The round since which there is no request. */
  #idleSince: number;

  constructor(session: ServerHttp2Session, owner: SessionOwner, excess: boolean) {
    this.#session = session;
    this.#owner = owner;
    this.#excess = excess;
    this.#idleSince = owner.round;
    // A close follows, which is what counts.
    session.on('error', () => {});
    session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      this.#onStream(stream, headers, raw);
    });
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
    const { round, headRoundsMax, requestRoundsMax, idleRoundsMax } = this.#owner;
    if (this.#requests.size === 0 && round - this.#idleSince > (this.#used ? idleRoundsMax : headRoundsMax)) {
      this.#session.destroy();
    }
    for (const request of this.#requests) {
      if (round - request.since > requestRoundsMax) request.timedOut();
    }
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): void {
    this.#used = true;
    stream.on('error', () => {});
    let fault: RequestFault = 'too_many_connections';
    try {
      const head = readStreamHead(headers, raw, this.#owner.limits);
      if (!this.#excess) {
        this.#serve(new Http2Request(head, stream, this.#owner.round));
        return;
      }
    } catch (error) {
      if (!(error instanceof Http1Error)) throw error;
      fault = error.code;
    }
    refuseStream(stream, this.#owner.handler.refusal(fault));
    if (this.#excess) this.close();
  }

  #serve(request: Http2Request): void {
    const { handler } = this.#owner;
    const response = new Http2Response(request, (fault) => handler.refusal(fault));
    this.#requests.add(request);
    request.stream.on('close', () => {
      this.#requests.delete(request);
      this.#idleSince = this.#owner.round;
      request.abort();
      response.connectionClosed();
    });
    handler.onRequest(request, response);
  }
}
