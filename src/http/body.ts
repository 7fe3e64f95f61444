/** Reads a request body within its limit. A problem is a value: the request is counted against the rate limit first. */
import { GatewayError } from '../core/conditions.ts';
import type { BodySink, IncomingRequest } from '../transport/server.ts';

const NOTHING = Buffer.alloc(0);

/** Never rejects. */
export function readBody(request: IncomingRequest, limitBytes: number): Promise<Buffer | GatewayError> {
  const problem = headerProblem(request, limitBytes);
  if (problem) return Promise.resolve(problem);
  return new Promise((resolve) => {
    request.readBody(new CollectedBody(limitBytes, request.contentBytes ?? limitBytes, resolve));
  });
}

/** The first piece is taken as it is, and is mostly the only one; later ones are copied, however small they are. */
class CollectedBody implements BodySink {
  readonly #limitBytes: number;
  readonly #expectedBytes: number;
  #buffer: Buffer = NOTHING;
  #bytes = 0;
  #ended = false;
  readonly #resolve: (result: Buffer | GatewayError) => void;

  constructor(limitBytes: number, expectedBytes: number, resolve: (result: Buffer | GatewayError) => void) {
    this.#limitBytes = limitBytes;
    this.#expectedBytes = expectedBytes;
    this.#resolve = resolve;
  }

  onData(piece: Buffer): void {
    if (this.#ended) return;
    const bytes = this.#bytes + piece.length;
    if (bytes > this.#limitBytes) {
      this.#end(tooLarge(this.#limitBytes));
      return;
    }
    if (this.#bytes === 0) this.#buffer = piece;
    else {
      if (bytes > this.#buffer.length) this.#grow(bytes);
      piece.copy(this.#buffer, this.#bytes);
    }
    this.#bytes = bytes;
  }

  onEnd(): void {
    this.#end(this.#bytes === this.#buffer.length ? this.#buffer : this.#buffer.subarray(0, this.#bytes));
  }

  onAborted(): void {
    this.#end(new GatewayError('invalid_request', { message: 'The request body broke off.' }));
  }

  /** Not to all that is announced at once: a client may announce what it never sends. */
  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafe(Math.max(bytes, Math.min(2 * bytes, this.#expectedBytes)));
    this.#buffer.copy(larger, 0, 0, this.#bytes);
    this.#buffer = larger;
  }

  #end(result: Buffer | GatewayError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#buffer = NOTHING;
    this.#resolve(result);
  }
}

function headerProblem(request: IncomingRequest, limitBytes: number): GatewayError | null {
  if ((request.contentBytes ?? 0) > limitBytes) return tooLarge(limitBytes);
  const { headers } = request;
  const encoding = headers.first('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    return new GatewayError('invalid_request', {
      message: 'Compressed request bodies are not accepted. Send the JSON as it is.',
    });
  }
  const type = headers.first('content-type');
  if (type === null || !/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    return new GatewayError('invalid_request', {
      message: 'Send the body as JSON, with the header Content-Type: application/json.',
    });
  }
  return null;
}

function tooLarge(limitBytes: number): GatewayError {
  return new GatewayError('request_too_large', { message: `The request body is larger than ${limitBytes} bytes.` });
}
