/** What the HTTP parser itself refuses still gets a status, an envelope and a request id, and then the connection closes. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import { errorBody } from './reply.ts';
import { newRequestId } from './request-id.ts';

const HEADERS_MAX = 200;
/**
 * A peer that is still sending when its connection is closed loses the answer to a reset. So what it sends is read and
 * dropped for a while, within these bounds.
 */
const LINGER_MS = 2_000;
const LINGER_BYTES_MAX = 8 * 1_024 * 1_024;
/** How many bytes a refused connection may have sent when it is closed for good. */
const refused = new WeakMap<Socket, number>();

export function installParserErrors(server: Server): void {
  server.removeAllListeners('clientError');
  // Node's own bound drops what is over it without a word; this one says so.
  server.maxHeadersCount = 0;
  // Node's answer to an expectation that it does not know has no request id; a server may as well ignore it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The parser complains again about every piece that comes after the first one.
    if (refused.has(socket)) closeBeyondBounds(socket);
    else if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, messageOf(error.code));
  });
}

/**
 * True when the request was refused for its headers, or follows on a connection that was refused: it must not be served
 * then.
 */
export function refusedForHeaders(request: IncomingMessage): boolean {
  const { socket } = request;
  if (!refused.has(socket)) {
    const fault = faultOf(request);
    if (fault === null) return false;
    refuse(socket, fault);
  }
  request.on('data', () => closeBeyondBounds(socket));
  return true;
}

function faultOf({ rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (rawHeaders.length > HEADERS_MAX * 2) return `The request has more than ${HEADERS_MAX} headers.`;
  const isHost = (text: string, index: number) => index % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host';
  return httpVersion === '1.0' || rawHeaders.some(isHost) ? null : 'The request has no Host header.';
}

function closeBeyondBounds(socket: Socket): void {
  if (socket.bytesRead > (refused.get(socket) ?? 0)) socket.destroy();
}

function messageOf(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'The request headers are too large.';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request was sent too slowly.';
  return 'The request is not valid HTTP/1.1.';
}

function refuse(socket: Socket, message: string): void {
  const requestId = newRequestId();
  const failure = failureOf(null, new GatewayError('invalid_request', { message }));
  const body = errorBody('A', failure, requestId);
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json',
    `content-length: ${body.length}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ];
  refused.set(socket, socket.bytesRead + LINGER_BYTES_MAX);
  // The connection closes by itself as soon as the peer has closed its side too.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
}
