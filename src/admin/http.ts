/**
 * The admin API over HTTP, on two listeners. The loopback port requires the admin secret with every request; the Unix
 * socket requires none, because only the gateway's own user can open it.
 */
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Log, NO_LOG } from '../core/log.ts';
import { AdminError, type AdminErrorCode } from './api.ts';
import { findRoute } from './routes.ts';
import type { AdminService } from './service.ts';
import { closeServer } from './socket.ts';

export interface AdminServerOptions {
  /** Null only for the Unix socket; a TCP caller is then refused whatever it sends. */
  readonly secret: string | null;
  /** Accepted `Host` names in addition to the loopback ones. Others are refused: DNS rebinding. */
  readonly hosts?: readonly string[];
  readonly log?: Log;
}

const BODY_BYTES_MAX = 65_536;
const LOOPBACK_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
const STATUS: Readonly<Record<AdminErrorCode, number>> = {
  invalid_input: 400,
  unauthorized: 401,
  forbidden: 403,
  unknown_key: 404,
  not_found: 404,
  method_not_allowed: 405,
  refused: 409,
  too_large: 413,
  internal: 500,
  unavailable: 503,
};

export function adminServer(service: AdminService, options: AdminServerOptions): Server {
  if (options.secret === '') throw new TypeError('the admin secret must not be empty');
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000, maxHeaderSize: 16_384 },
    (request, response) => {
      void answer(service, options, request, response);
    },
  );
  server.on('clientError', refuseUnreadable);
  return server;
}

export interface AdminPortOptions extends AdminServerOptions {
  readonly secret: string;
  readonly host: string;
  readonly port: number;
}

export interface AdminPortListener {
  readonly port: number;
  close(): Promise<void>;
}

/** The loopback listener. Rejects when the port is taken. */
export async function listenOnPort(service: AdminService, options: AdminPortOptions): Promise<AdminPortListener> {
  const server = adminServer(service, options);
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(options.port, options.host, () => {
      server.off('error', failed);
      done();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}

async function answer(
  service: AdminService,
  options: AdminServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const requestId = randomUUID();
  response.setHeader('x-request-id', requestId);
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  try {
    requireTrusted(options, request);
    const { route, parameters, allow } = findRoute(request.method ?? '', request.url ?? '');
    if (route === null) {
      response.setHeader('allow', allow.join(', '));
      throw new AdminError('method_not_allowed', `${request.url} supports ${allow.join(', ')}, not ${request.method}`);
    }
    const body = route.takesBody ? await readJson(request) : undefined;
    const result = await route.run(service, parameters, body);
    send(response, route.status, result);
  } catch (error) {
    const known = asAdminError(error);
    if (known.code === 'internal' || known.code === 'unavailable') {
      (options.log ?? NO_LOG).error({ err: known.cause ?? known, requestId }, 'admin request failed');
    }
    // An unread body would be parsed as the next request.
    if (!request.complete) response.setHeader('connection', 'close');
    if (known.code === 'unauthorized') response.setHeader('www-authenticate', 'Bearer');
    if (known.code === 'unavailable') response.setHeader('retry-after', '1');
    send(response, STATUS[known.code], {
      error: { code: known.code, message: known.message, field: known.field, request_id: requestId },
    });
  }
}

function requireTrusted(options: AdminServerOptions, request: IncomingMessage): void {
  const overTcp = request.socket.remoteAddress !== undefined;
  if (options.secret === null) {
    if (overTcp) throw new AdminError('forbidden', 'this listener accepts Unix socket connections only');
    return;
  }
  const host = request.headers.host ?? '';
  const name = host.replace(/:\d{1,5}$/, '').toLowerCase();
  if (!LOOPBACK_HOSTS.includes(name) && !options.hosts?.includes(name)) {
    const allowed = [...LOOPBACK_HOSTS, ...(options.hosts ?? [])].join(', ');
    throw new AdminError('forbidden', `the Host header must name this listener: expected one of ${allowed}`);
  }
  const origin = request.headers.origin;
  if (origin !== undefined && origin !== `http://${host}`) {
    throw new AdminError('forbidden', 'requests from another origin are not accepted');
  }
  const sent = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (sent === undefined || !sameSecret(sent, options.secret)) {
    throw new AdminError('unauthorized', 'send "Authorization: Bearer <secret>" with the secret in admin.secret');
  }
}

/** Digests have equal lengths, so the comparison does not even reveal how long the secret is. */
function sameSecret(sent: string, secret: string): boolean {
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', secret, 'buffer'));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new AdminError('invalid_input', 'the body must be JSON, with Content-Type: application/json');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) {
      throw new AdminError('too_large', `the body is too large: at most ${BODY_BYTES_MAX} bytes are accepted`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    throw new AdminError('invalid_input', 'the body is not valid JSON in UTF-8');
  }
}

function asAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error;
  // Outcomes of the ledger are values: an exception means that the store failed.
  const fromStore = error instanceof Error && /^Store/.test(error.name);
  return fromStore
    ? new AdminError(
        'unavailable',
        'the store failed and the result of this operation is unknown: check it before you repeat this',
        {
          cause: error,
        },
      )
    : new AdminError('internal', 'unexpected error: see the log of the gateway', { cause: error });
}

function send(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length });
  response.end(body);
}

/** A request that cannot be parsed still gets an answer with a request id. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const message = 'the request cannot be read as HTTP/1.1';
  const body = JSON.stringify({ error: { code: 'invalid_input', message, field: null, request_id: requestId } });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nx-request-id: ${requestId}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
