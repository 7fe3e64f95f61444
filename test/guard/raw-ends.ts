/**
 * A client and a provider made of sockets and fixed bytes: beside a gateway in the same process they parse nothing,
 * and make no timers and no promises of their own while a request runs.
 */
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

export interface FixedProvider extends AsyncDisposable {
  readonly port: number;
}

/** Answers every request with these writes, one per turn of the event loop. */
export async function fixedProvider(writes: readonly Buffer[]): Promise<FixedProvider> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      const end = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, Math.max(0, end)))?.[1]);
      if (end === -1 || received.length < end + 4 + length) return;
      received = received.subarray(end + 4 + length);
      send(socket, writes, 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(socket: Socket, writes: readonly Buffer[], index: number): void {
  const bytes = writes[index];
  if (bytes === undefined) return;
  socket.write(bytes);
  setImmediate(() => send(socket, writes, index + 1));
}

/** One connection that is kept; one request at a time. */
export class RawClient {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #end: string;
  #answer = '';
  #resolve: (answer: string) => void = () => {};

  private constructor(socket: Socket, request: Buffer, end: string) {
    this.#socket = socket;
    this.#request = request;
    this.#end = end;
    socket.on('data', (data) => {
      this.#answer += data.toString('latin1');
      if (this.#answer.endsWith(this.#end)) this.#resolve(this.#answer);
    });
  }

  /** An answer is complete when it ends with `end`. */
  static async connect(origin: string, request: Buffer, end: string): Promise<RawClient> {
    const { hostname, port } = new URL(origin);
    const socket = createConnection({ host: hostname, port: Number(port), noDelay: true });
    await new Promise((resolve) => socket.once('connect', resolve));
    return new RawClient(socket, request, end);
  }

  ask(): Promise<string> {
    this.#answer = '';
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#socket.write(this.#request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
