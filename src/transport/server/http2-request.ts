/** A request over HTTP/2: the head of a stream, checked as strictly as one of HTTP/1.1, and the way to its content. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { PieceTally } from '../../lib/piece-tally.ts';
import { Http1Error, type RequestFault } from '../errors.ts';
import type { BodySink, IncomingRequest, ServerLimits } from '../server.ts';
import { HeaderList } from './header-list.ts';
import { checkCount, checkRequestLine } from './request-head.ts';

/** What HTTP/2 counts for each field beside its name and value. */
const FIELD_OVERHEAD_BYTES = 32;

interface StreamHead {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** Null where only the end of the content tells. */
  readonly contentBytes: number | null;
  readonly expectsContinue: boolean;
}

/**
 * `raw` is flat, with the pseudo-headers. Node's own checks are done: pseudo-headers once and first, no fields of a
 * connection, a Content-Length that the content keeps to. Throws an Http1Error.
 */
export function readStreamHead(
  headers: IncomingHttpHeaders,
  raw: readonly string[],
  limits: Pick<ServerLimits, 'headerBytes' | 'headerCount'>,
): StreamHead {
  const fields: string[] = [];
  let bytes = 0;
  let host: string | null = null;
  let length: string | null = null;
  let expectation: string | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    bytes += name.length + value.length + FIELD_OVERHEAD_BYTES;
    if (name.startsWith(':')) continue;
    if (name === 'content-length') length = value;
    else fields.push(name, value);
    if (name === 'expect') expectation = value;
    if (name !== 'host') continue;
    if (host !== null) throw new Http1Error('malformed', 'repeated Host header');
    host = value;
  }
  const { ':method': method = '', ':path': target = '', ':authority': authority } = headers;
  if (bytes > limits.headerBytes) throw new Http1Error('too_large', 'header too large');
  checkRequestLine(method, target);
  checkCount(fields.length / 2, limits.headerCount);
  if (authority === undefined && host === null) throw new Http1Error('no_host', 'missing Host header');
  if (authority !== undefined && host !== null && authority !== host) {
    throw new Http1Error('malformed', 'Host header differs from :authority');
  }
  if (authority !== undefined && host === null) fields.push('host', authority);
  return {
    method,
    target,
    headers: new HeaderList(fields),
    contentBytes: length === null ? null : Number(length),
    expectsContinue: expectation !== null && /^100-continue$/i.test(expectation),
  };
}

export class Http2Request implements IncomingRequest {
  readonly stream: ServerHttp2Stream;
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  /** The round in which its head arrived. */
  readonly since: number;
  readonly #head: StreamHead;
  /** Called at most once: the content is not sent in time, or in pieces that are too many and too small. */
  onFault: ((fault: RequestFault) => void) | null = null;
  readonly #tally = new PieceTally();
  #sink: BodySink | null = null;
  #wanted = true;

  constructor(head: StreamHead, stream: ServerHttp2Stream, since: number) {
    this.stream = stream;
    this.method = head.method;
    this.target = head.target;
    this.headers = head.headers;
    this.since = since;
    this.#head = head;
  }

  get contentBytes(): number | null {
    return this.stream.endAfterHeaders ? 0 : this.#head.contentBytes;
  }

  get remoteAddress(): string {
    return this.stream.session?.socket.remoteAddress ?? '';
  }

  /** Whether all of its content has been read. */
  get received(): boolean {
    return this.stream.endAfterHeaders || this.stream.readableEnded;
  }

  readBody(sink: BodySink): void {
    if (!this.#wanted) {
      sink.onAborted();
      return;
    }
    const { stream } = this;
    if (stream.endAfterHeaders) {
      sink.onEnd();
      return;
    }
    this.#sink = sink;
    if (this.#head.expectsContinue) stream.additionalHeaders({ ':status': 100 });
    stream.on('data', (piece: Buffer) => this.#received(piece));
    stream.on('end', () => {
      // The end of a stream that the client has reset is not the end of its content.
      if (stream.aborted) return;
      this.#sink?.onEnd();
      this.#sink = null;
    });
  }

  /** Nothing of the content reaches anybody from now on. */
  abort(): void {
    this.#wanted = false;
    const sink = this.#sink;
    this.#sink = null;
    sink?.onAborted();
  }

  timedOut(): void {
    if (!this.received) this.onFault?.('too_slow');
    this.onFault = null;
  }

  #received(piece: Buffer): void {
    if (this.#sink === null) return;
    this.#tally.add(piece);
    if (this.#tally.areTooSmall) {
      this.onFault?.('tiny_chunks');
      this.onFault = null;
    } else this.#sink.onData(piece);
  }
}
