/** A server on a free port, and a client of bare bytes for it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Log, NO_LOG } from '../../../../src/core/log.ts';
import type { RequestFault } from '../../../../src/transport/errors.ts';
import { HttpServer } from '../../../../src/transport/server/http-server.ts';
import type {
  BodySink,
  IncomingRequest,
  Refusal,
  RequestHandler,
  ServerLimits,
  ServerResponse,
  TlsIdentity,
} from '../../../../src/transport/server.ts';

/** The suites of this folder run over each of them. */
export type Handler = RequestHandler['onRequest'];

export interface ServerFixture extends AsyncDisposable {
  readonly server: HttpServer;
  readonly port: number;
  /** What was refused, in order. */
  readonly refused: string[];
}

export interface ServerFixtureOptions {
  readonly log?: Log;
  readonly tls?: TlsIdentity;
  readonly isProxy?: (address: string) => boolean;
  /** The same as for every other request by default. */
  readonly onUpgrade?: RequestHandler['onUpgrade'];
}

const LIMITS: ServerLimits = {
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  headerBytes: 32 * 1_024,
  headerCount: 200,
  connections: 10_000,
  connectionsPerAddress: 10_000,
};

export async function serverFixture(
  onRequest: Handler,
  limits: Partial<ServerLimits> = {},
  { log = NO_LOG, tls, isProxy = () => false, onUpgrade = onRequest }: ServerFixtureOptions = {},
): Promise<ServerFixture> {
  const refused: string[] = [];
  const refusal = (fault: RequestFault): Refusal => {
    refused.push(fault);
    const status = /^too_many_(connections|of_address)$/.test(fault) ? 503 : 400;
    return { status, headers: ['x-refused', fault], content: Buffer.from(fault) };
  };
  const server = new HttpServer({
    limits: { ...LIMITS, ...limits },
    handler: { onRequest, onUpgrade, refusal },
    log,
    tls: tls ?? null,
    isProxy,
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    server,
    port,
    refused,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Collects the content; `null` when it broke off. */
export function contentOf(request: IncomingRequest): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const sink: BodySink = {
      onData: (piece) => pieces.push(piece),
      onEnd: () => resolve(Buffer.concat(pieces)),
      onAborted: () => resolve(null),
    };
    request.readBody(sink);
  });
}

export function sendText(response: ServerResponse, text: string, status = 200): void {
  response.send(status, ['content-type', 'text/plain'], Buffer.from(text));
}

/** Answers with what was asked. */
export const echo: Handler = (request, response) => {
  void contentOf(request).then((body) => sendText(response, `${request.method} ${request.target} ${body}.`));
};

interface Arrived {
  readonly request: IncomingRequest;
  readonly response: ServerResponse;
}

export interface GatedServer {
  readonly end: ServerFixture;
  next(): Promise<Arrived>;
  arrivals(): number;
}

/** A server whose requests wait for the test. */
export async function gatedServer(
  limits: Partial<ServerLimits> = {},
  options: ServerFixtureOptions = {},
): Promise<GatedServer> {
  const arrived: Arrived[] = [];
  let wake: () => void = () => {};
  let arrivals = 0;
  const onRequest: Handler = (request, response) => {
    arrivals += 1;
    arrived.push({ request, response });
    wake();
  };
  const end = await serverFixture(onRequest, limits, options);
  const next = async (): Promise<Arrived> => {
    for (;;) {
      const first = arrived.shift();
      if (first) return first;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { end, next, arrivals: () => arrivals };
}

/** Reads everything that comes, as Latin-1. */
export class RawPeer {
  readonly socket: Socket;
  text = '';
  readonly closed: Promise<unknown>;
  #ended = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
      this.#wake();
    });
    socket.on('end', () => this.#over());
    socket.on('close', () => this.#over());
  }

  static async connect(port: number, allowHalfOpen = false): Promise<RawPeer> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen });
    await once(socket, 'connect');
    return new RawPeer(socket);
  }

  send(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Everything so far, when it fits. */
  async until(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.text)) {
      if (this.#ended) throw new Error(`it ended without ${wanted}: ${this.text.slice(0, 2_000)}`);
      await this.#news();
    }
    return this.text;
  }

  /** Everything, when the server has closed its side. */
  async untilEnd(): Promise<string> {
    while (!this.#ended) await this.#news();
    return this.text;
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #over(): void {
    this.#ended = true;
    this.#wake();
  }
}
