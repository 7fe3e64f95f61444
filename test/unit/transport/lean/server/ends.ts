/** A server of `src/http1` on a free port, and a client of bare bytes for it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Http1Error } from '../../../../../src/transport/lean/errors.ts';
import { fieldLine } from '../../../../../src/transport/lean/head-lines.ts';
import type { BodySink, IncomingRequest } from '../../../../../src/transport/lean/server/request.ts';
import type { Answer } from '../../../../../src/transport/lean/server/response.ts';
import { Http1Server, type ServerLimits } from '../../../../../src/transport/lean/server/server.ts';

export type Handler = (request: IncomingRequest, answer: Answer) => void;

export interface ServerEnd extends AsyncDisposable {
  readonly server: Http1Server;
  readonly port: number;
  /** What was refused, in order. */
  readonly refused: string[];
}

const LIMITS: ServerLimits = { headMs: 60_000, requestMs: 60_000, idleMs: 75_000 };

export async function serverEnd(onRequest: Handler, limits: Partial<ServerLimits> = {}): Promise<ServerEnd> {
  const refused: string[] = [];
  const refusal = ({ code }: Http1Error): { fields: string; content: Buffer } => {
    refused.push(code);
    return { fields: fieldLine('x-refused', code), content: Buffer.from(code) };
  };
  const server = new Http1Server({ ...LIMITS, ...limits }, { onRequest, refusal });
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
      onBroken: () => resolve(null),
    };
    request.readBody(sink);
  });
}

export function answerText(answer: Answer, text: string, status = 200): void {
  answer.whole(status, 'content-type: text/plain\r\n', Buffer.from(text));
}

/** Answers with what was asked. */
export const echo: Handler = (request, answer) => {
  void contentOf(request).then((body) => answerText(answer, `${request.kind.method} ${request.kind.target} ${body}.`));
};

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
      if (this.#ended) throw new Error(`it ended without ${wanted}: ${this.text}`);
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
