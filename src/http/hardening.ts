/** What the HTTP parser itself refuses still gets a status, an envelope and a request id, and then the connection closes. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { GatewayError } from '../core/conditions.ts';
import { failureOf } from '../core/failure.ts';
import { errorBody } from './reply.ts';
import { newRequestId } from './request-id.ts';

const HEADERS_MAX = 200;

export function installParserErrors(server: Server): void {
  server.removeAllListeners('clientError');
  // Node's own bound drops what is over it without a word; this one says so.
  server.maxHeadersCount = 0;
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, messageOf(error.code));
  });
}

/** True when the request was refused for the number of its headers; it must not be served then. */
export function refusedForHeaders(request: IncomingMessage): boolean {
  if (request.rawHeaders.length <= HEADERS_MAX * 2) return false;
  refuse(request.socket, `The request has more than ${HEADERS_MAX} headers.`);
  return true;
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
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  // What the peer still sends is not read: it has lost its place in the protocol.
  socket.once('finish', () => socket.destroy());
}
