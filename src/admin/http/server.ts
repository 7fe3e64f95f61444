/**
 * The operator's listeners. The application behind them is loaded and built with the first request: a start does not
 * wait for it, and a gateway that nobody asks never has it in memory.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { NO_LOG } from '../../core/log.ts';
import { CountedMessage } from '../../lib/counted-message.ts';
import { createServer } from '../../lib/node-http.ts';
import { AdminError } from '../error.ts';
import type { AdminService } from '../service.ts';
import { closeServer } from '../socket.ts';
import type { AdminAppOptions, TlsIdentity } from './app.ts';
import { envelope } from './errors.ts';
import type { AdminApp } from './framework.ts';

export class AdminServer {
  readonly server: Server | TlsServer;
  readonly #service: AdminService;
  readonly #options: AdminAppOptions;
  #app: Promise<AdminApp> | null = null;

  constructor(service: AdminService, options: AdminAppOptions) {
    if (options.secret === '') throw new TypeError('the admin secret must not be empty');
    this.#service = service;
    this.#options = options;
    const limits = {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5_000,
      maxHeaderSize: 16_384,
      IncomingMessage: CountedMessage,
    };
    const answer = (request: IncomingMessage, response: ServerResponse) => void this.#answer(request, response);
    this.server =
      options.tls == null ? createServer(limits, answer) : createTlsServer({ ...limits, ...options.tls }, answer);
    this.server.on('clientError', refuseUnreadable);
  }

  /** Stops listening, ends what the application keeps open, and lets running requests finish. */
  async close(): Promise<void> {
    const closed = closeServer(this.server);
    const app = await this.#app?.catch(() => null);
    await app?.close();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Supervisors ask every few seconds, and what they want to know needs no application.
    if (this.#app === null && request.method === 'GET' && request.url === '/healthz') {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
      response.end('{"status":"ok"}');
      return;
    }
    try {
      this.#app ??= this.#build();
      (await this.#app).routing(request, response);
    } catch (err) {
      this.#app = null;
      (this.#options.log ?? NO_LOG).error({ err }, 'the admin API could not be loaded');
      response.writeHead(500, { 'content-type': 'application/json; charset=utf-8', connection: 'close' });
      const error = new AdminError('internal', 'the admin API could not be loaded: see the log of the gateway');
      response.end(JSON.stringify(envelope(error, randomUUID())));
    }
  }

  async #build(): Promise<AdminApp> {
    const { adminApp } = await import('./app.ts');
    return adminApp(this.#service, this.#options);
  }
}

interface AdminPortOptions extends AdminAppOptions {
  readonly secret: string;
  readonly host: string;
  readonly port: number;
}

interface AdminPortListener {
  readonly port: number;
  /** From the next connection on; where the listener has TLS. */
  setTlsIdentity(pem: TlsIdentity): void;
  close(): Promise<void>;
}

/** Rejects when the port is taken. */
export async function listenOnPort(service: AdminService, options: AdminPortOptions): Promise<AdminPortListener> {
  const admin = new AdminServer(service, options);
  const { server } = admin;
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(options.port, options.host, () => {
      server.off('error', failed);
      done();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    setTlsIdentity: (pem) => {
      if ('setSecureContext' in server) server.setSecureContext(pem);
    },
    close: () => admin.close(),
  };
}

/** A request that cannot be parsed still gets an answer with a request id. */
function refuseUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const refusal = new AdminError('invalid_input', 'the request cannot be read as HTTP/1.1');
  const body = JSON.stringify(envelope(refusal, requestId));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nx-request-id: ${requestId}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
