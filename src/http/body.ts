/** Reads a request body within its limit. A problem is a value: the request is counted against the rate limit first. */
import { GatewayError } from '../core/conditions.ts';
import { ByteCollector } from '../lib/byte-collector.ts';
import type { BodySink, IncomingRequest } from '../transport/server.ts';

/** Never rejects. */
export function readBody(request: IncomingRequest, limitBytes: number): Promise<Buffer | GatewayError> {
  const problem = headerProblem(request, limitBytes);
  if (problem) return Promise.resolve(problem);
  return new Promise((resolve) => {
    request.readBody(new CollectedBody(limitBytes, request.contentBytes ?? limitBytes, resolve));
  });
}

class CollectedBody implements BodySink {
  readonly #limitBytes: number;
  readonly #resolve: (result: Buffer | GatewayError) => void;
  /** Null after the end. */
  #collected: ByteCollector | null;

  constructor(limitBytes: number, expectedBytes: number, resolve: (result: Buffer | GatewayError) => void) {
    this.#limitBytes = limitBytes;
    this.#collected = new ByteCollector(expectedBytes);
    this.#resolve = resolve;
  }

  onData(piece: Buffer): void {
    if (this.#collected === null) return;
    if (this.#collected.length + piece.length > this.#limitBytes) this.#end(tooLarge(this.#limitBytes));
    else this.#collected.add(piece);
  }

  onEnd(): void {
    if (this.#collected !== null) this.#end(this.#collected.whole());
  }

  onAborted(): void {
    this.#end(new GatewayError('invalid_request', { message: 'The request body broke off.' }));
  }

  /** The promise takes the first result. */
  #end(result: Buffer | GatewayError): void {
    this.#collected = null;
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
