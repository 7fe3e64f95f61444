/** A WebSocket as `ws` speaks it: the handshake, frames and their faults, and whether the client is still there. */
import type { Socket } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import type { RawHeaders, WebSocketConnection, WebSocketHandler } from '../server.ts';
import type { Http1Message } from './http1-request.ts';

/** What a client has sent of a message counts as a message that is on its way from here on. */
const PARTIAL_BYTES_MIN = 64 * 1_024;
const TEXT = { binary: false, compress: false } as const;
const KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSION = '13';

interface Opening {
  readonly message: Http1Message;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly headers: RawHeaders;
  readonly messageBytesMax: number;
  readonly handler: WebSocketHandler;
}

/** Whether it has what RFC 6455 asks of a client, beside what makes it a request for a WebSocket. */
export function isHandshake({ headers }: Http1Message): boolean {
  return KEY.test(headers['sec-websocket-key'] ?? '') && headers['sec-websocket-version'] === VERSION;
}

/** Null where the client has gone. */
export function openWebSocket({
  message,
  socket,
  head,
  headers,
  messageBytesMax,
  handler,
}: Opening): WebSocketConnection | null {
  // A subprotocol is chosen by none of the clients, and one that is not known is not agreed to.
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    handleProtocols: () => false,
    maxPayload: messageBytesMax,
    // Each compressed connection would keep some 300 KB of zlib's state, and a small message could unfold to a large one.
    perMessageDeflate: false,
    // One message in a turn of the event loop: thousands of small ones may come at once.
    allowSynchronousEvents: false,
    WebSocket: ServedWebSocket,
  });
  server.on('headers', (lines) => {
    for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  });
  let opened: ClientWebSocket | null = null;
  server.handleUpgrade(message, socket, head, (webSocket) => {
    opened = new ClientWebSocket(webSocket, socket, handler);
  });
  return opened;
}

/** `ws` closes by itself where a client has sent what cannot be, or closes: its owner is asked, or told, first. */
class ServedWebSocket extends WebSocket {
  owner: ClientWebSocket | null = null;

  override close(code?: number, reason?: string | Buffer): void {
    // Only a fault comes without a reason.
    if (code !== undefined && reason === undefined) this.owner?.faulted(code);
    else {
      this.owner?.closing();
      super.close(code, reason);
    }
  }
}

class ClientWebSocket implements WebSocketConnection {
  readonly #webSocket: ServedWebSocket;
  readonly #socket: Socket;
  readonly #handler: WebSocketHandler;
  #closed = false;
  #onDrain: (() => void) | null = null;
  /** Whether anything of the client has arrived since the last check. */
  #heard = true;
  /** What the socket had read when the last message was whole, and when more than a little has come since. */
  #readBytes: number;
  #partialSince: number | null = null;

  constructor(webSocket: ServedWebSocket, socket: Socket, handler: WebSocketHandler) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#handler = handler;
    this.#readBytes = socket.bytesRead;
    webSocket.owner = this;
    webSocket.on('message', (content, isBinary) => {
      this.#heard = true;
      this.#readBytes = socket.bytesRead;
      this.#partialSince = null;
      if (!this.#closed) handler.onMessage(content as Buffer, !isBinary);
    });
    webSocket.on('ping', () => {
      this.#heard = true;
    });
    webSocket.on('pong', () => {
      this.#heard = true;
    });
    // What has failed closes as well.
    webSocket.on('error', () => {});
    webSocket.on('close', () => this.closing());
    socket.on('drain', () => this.#drained());
  }

  get closed(): boolean {
    return this.#closed;
  }

  get partialBytes(): number {
    return this.#socket.bytesRead - this.#readBytes;
  }

  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  send(content: Buffer): void {
    if (!this.#closed) this.#webSocket.send(content, TEXT);
  }

  ping(): void {
    if (!this.#closed) this.#webSocket.ping();
  }

  check(messageMs: number): boolean {
    if (this.#closed) return true;
    if (this.partialBytes > PARTIAL_BYTES_MIN) this.#partialSince ??= performance.now();
    const isSlow = this.#partialSince !== null && performance.now() - this.#partialSince > messageMs;
    // A client that has much to read answers a ping when it has read that.
    if (isSlow || (!this.#heard && !this.needsDrain)) {
      this.destroy();
      return false;
    }
    this.#heard = false;
    this.ping();
    return true;
  }

  close(code: number, reason: string): void {
    if (!this.#closed) this.#webSocket.close(code, reason);
  }

  destroy(): void {
    this.#webSocket.terminate();
    this.closing();
  }

  faulted(code: number): void {
    if (this.#closed) this.#webSocket.close(code, '');
    else this.#handler.onFault(code);
  }

  /** Nobody reads what is sent from now on. */
  closing(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onDrain = null;
    this.#handler.onClose();
  }

  #drained(): void {
    const listener = this.#onDrain;
    this.#onDrain = null;
    listener?.();
  }
}
