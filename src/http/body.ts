/** Reads a request body within its limit. A problem is a value: the request takes its place in the rate limit first. */
import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../core/conditions.ts';

export function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer | GatewayError> {
  const problem = headerProblem(request, limitBytes);
  if (problem) {
    request.resume();
    return Promise.resolve(problem);
  }
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limitBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(tooLarge(limitBytes));
      }
    });
    request.on('end', () => {
      const [only] = chunks;
      resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks));
    });
    const breakOff = (): void =>
      resolve(new GatewayError('invalid_request', { message: 'The request body broke off.' }));
    request.on('error', breakOff);
    // A client that has gone already says nothing any more.
    if (request.destroyed) breakOff();
  });
}

function headerProblem(request: IncomingMessage, limitBytes: number): GatewayError | null {
  const { headers } = request;
  if (Number(headers['content-length'] ?? 0) > limitBytes) return tooLarge(limitBytes);
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    return new GatewayError('invalid_request', {
      message: 'Compressed request bodies are not taken. Send the JSON as it is.',
    });
  }
  const type = headers['content-type'];
  if (type === undefined || !/^application\/(?:[\w.-]+\+)?json *(?:;|$)/i.test(type)) {
    return new GatewayError('invalid_request', {
      message: 'Send the body as JSON, with the header Content-Type: application/json.',
    });
  }
  return null;
}

function tooLarge(limitBytes: number): GatewayError {
  return new GatewayError('request_too_large', { message: `The request body is larger than ${limitBytes} bytes.` });
}
