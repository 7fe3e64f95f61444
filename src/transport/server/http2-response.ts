/** The response to one request over HTTP/2. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { RequestFault } from '../errors.ts';
import type { RawHeaders, Refusal, ServerResponse } from '../server.ts';
import type { Http2Request } from './http2-request.ts';
import { ResponsePhases } from './response-phases.ts';

/** Fields of an HTTP/1.1 connection, which HTTP/2 does not have. */
const CONNECTION_FIELDS = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const { NGHTTP2_NO_ERROR } = constants;

/** One per request. */
export class Http2Response extends ResponsePhases implements ServerResponse {
  readonly #request: Http2Request;
  protected readonly written: ServerHttp2Stream;

  constructor(request: Http2Request, refusal: (fault: RequestFault) => Refusal) {
    super();
    this.#request = request;
    this.written = request.stream;
    request.onFault = (fault) => this.#failed(refusal(fault));
  }

  requireUpgrade(): void {}

  send(status: number, headers: RawHeaders, content: Uint8Array): void {
    if (this.phase !== 'open') return;
    headers.push('content-length', content.byteLength);
    this.#respond(status, headers);
    this.phase = 'ended';
    this.#end(content);
  }

  writeHead(status: number, headers: RawHeaders): void {
    if (this.phase !== 'open') return;
    this.#respond(status, headers);
    this.phase = 'streaming';
  }

  /** The head of a stream is sent at once. */
  flushHeaders(): void {}

  write(bytes: Buffer): boolean {
    if (this.phase !== 'streaming' || bytes.length === 0 || this.#request.method === 'HEAD') return true;
    return this.written.write(bytes);
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    if (this.phase !== 'streaming') return;
    this.phase = 'ended';
    if (lingerMs !== undefined) {
      const timer = setTimeout(() => giveUp(this.written), lingerMs);
      this.written.once('close', () => clearTimeout(timer));
      this.written.once('finish', () => clearTimeout(timer));
    }
    this.#end(bytes);
  }

  destroy(): void {
    if (this.phase !== 'ended') giveUp(this.written);
  }

  #respond(status: number, headers: RawHeaders): void {
    // Node ends the stream of a HEAD request itself.
    this.written.respond(headersOf(status, headers));
  }

  #end(bytes: Uint8Array): void {
    const stream = this.written;
    this.#request.abort();
    endStream(stream, bytes, this.#request.received);
  }

  #failed(refusal: Refusal): void {
    if (this.phase !== 'open') {
      giveUp(this.written);
      return;
    }
    this.connectionClosed();
    this.#request.abort();
    refuseStream(this.written, refusal);
  }
}

/** Not with `close`, which first sends what the client would take for the end of a complete response. */
export function giveUp(stream: ServerHttp2Stream): void {
  stream.destroy(new Error('the stream is given up'));
}

/** The response to a stream that was refused. The connection goes on: its other streams are not at fault. */
export function refuseStream(stream: ServerHttp2Stream, { status, headers, content }: Refusal): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond(headersOf(status, [...headers, 'content-length', content.length]));
  endStream(stream, content, stream.endAfterHeaders || stream.readableEnded);
}

/** A client that is still sending is asked to stop once it has the response. */
function endStream(stream: ServerHttp2Stream, content: Uint8Array, received: boolean): void {
  if (!received) stream.once('finish', () => stream.close(NGHTTP2_NO_ERROR));
  if (!stream.writableEnded) stream.end(content);
}

function headersOf(status: number, raw: RawHeaders): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ':status': status };
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = String(raw[i]);
    const value = raw[i + 1] ?? '';
    if (CONNECTION_FIELDS.has(name)) continue;
    if (typeof value === 'string' && !VALUE.test(value)) {
      throw new TypeError(`Invalid character in the value of the header ${name}`);
    }
    headers[name] = value;
  }
  return headers;
}
