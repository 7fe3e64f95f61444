/** The response to one request: its head, its framing, and as few writes to the socket as possible. */
import type { Socket } from 'node:net';
import { dateLine, headerLines, statusLine } from '../../head-lines.ts';
import type { RawHeaders, ServerResponse } from '../../server.ts';
import type { LeanRequest } from './request.ts';

/**
 * What is larger is not copied to be sent in one piece.
 * Saves about 70 of 280 us for a stream of 64 frames (this transport alone, commit 97ccf55); without it: the corked
 * writes that are used for what is larger.
 */
const COPIED_BYTES_MAX = 16 * 1_024;
const LINE_END = '\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const CLOSE = 'Connection: close\r\n';

/** The connection, as its response sees it. */
export interface ResponseChannel {
  readonly socket: Socket;
  /** The Connection lines of a response after which the connection is used again. */
  readonly keepAliveLines: string;
  /**
   * Whether the connection is used again after this response; not possible where only the close ends it. Asked once,
   * when its head is rendered, and kept to.
   */
  keepsAlive(framed: boolean): boolean;
  /** The response is complete. */
  responseEnded(): void;
}

/** One per request. */
export class LeanResponse implements ServerResponse {
  readonly #channel: ResponseChannel;
  readonly #withoutContent: boolean;
  readonly #http10: boolean;
  #phase: 'open' | 'streaming' | 'ended' = 'open';
  /** Not sent yet: it goes with the first bytes. */
  #head = '';
  /** Not sent yet: what is written in one go of the event loop goes out as one chunk. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #protocol: string | null = null;
  #closed = false;
  #onClose: (() => void) | null = null;
  #onDrain: (() => void) | null = null;

  constructor(request: LeanRequest, channel: ResponseChannel) {
    this.#channel = channel;
    this.#withoutContent = request.method === 'HEAD';
    this.#http10 = request.head.http10;
  }

  get headersSent(): boolean {
    return this.#phase !== 'open';
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
    if (this.#closed) listener();
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  requireUpgrade(protocol: string): void {
    this.#protocol = protocol;
  }

  send(status: number, headers: RawHeaders, content: Uint8Array): void {
    if (this.#phase !== 'open') return;
    const lines = headerLines(headers);
    this.#phase = 'ended';
    const head = this.#headOf(status, `${lines}content-length: ${content.byteLength}\r\n`, true);
    this.#send(`${head}\r\n`, this.#withoutContent ? [] : [content], '');
    this.#channel.responseEnded();
  }

  writeHead(status: number, headers: RawHeaders): void {
    if (this.#phase !== 'open') return;
    const lines = headerLines(headers);
    const framing = this.#http10 ? '' : 'Transfer-Encoding: chunked\r\n';
    this.#head = `${this.#headOf(status, lines, !this.#http10)}${framing}\r\n`;
    this.#phase = 'streaming';
  }

  flushHeaders(): void {
    if (this.#head !== '' && this.#pieceBytes === 0) this.#sendChunk('');
  }

  write(bytes: Buffer): boolean {
    // An empty chunk would be the end of the response.
    if (this.#phase !== 'streaming' || bytes.length === 0 || this.#withoutContent) return true;
    if (this.#pieceBytes === 0) process.nextTick(LeanResponse.#sendPieces, this);
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    const { writableLength, writableHighWaterMark } = this.#channel.socket;
    return writableLength + this.#pieceBytes < writableHighWaterMark;
  }

  end(bytes: Uint8Array, lingerMs?: number): void {
    if (this.#phase !== 'streaming') return;
    this.#phase = 'ended';
    if (!this.#withoutContent && bytes.byteLength > 0) {
      this.#pieces.push(bytes);
      this.#pieceBytes += bytes.byteLength;
    }
    this.#sendChunk(this.#withoutContent || this.#http10 ? '' : LAST_CHUNK);
    // Mostly all of it has been taken at once.
    if (lingerMs !== undefined && this.#channel.socket.writableLength > 0) this.#destroyUnlessTaken(lingerMs);
    this.#channel.responseEnded();
  }

  destroy(): void {
    // After its end the connection belongs to the next request.
    if (this.#phase === 'ended') return;
    const { socket } = this.#channel;
    // Where only the close ends a response, an orderly one would make it look complete.
    if (this.#http10 && this.#phase === 'streaming') socket.resetAndDestroy();
    else socket.destroy();
  }

  /** Called by the connection when the client has closed it. */
  connectionClosed(): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#head = '';
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#closed = true;
    this.#onClose?.();
  }

  /** Called by the connection when what was written has been sent. */
  drained(): void {
    const listener = this.#onDrain;
    this.#onDrain = null;
    listener?.();
  }

  #headOf(status: number, lines: string, framed: boolean): string {
    const keeps = this.#channel.keepsAlive(framed);
    return `${statusLine(status)}${lines}${dateLine()}${this.#connectionLines(keeps)}`;
  }

  #connectionLines(keeps: boolean): string {
    if (this.#protocol === null) return keeps ? this.#channel.keepAliveLines : CLOSE;
    return `Upgrade: ${this.#protocol}\r\nConnection: Upgrade${keeps ? '' : ', close'}\r\n`;
  }

  static #sendPieces(response: LeanResponse): void {
    // A writer that stopped because of these pieces alone can go on.
    if (response.#pieceBytes > 0 && response.#sendChunk('')) response.drained();
  }

  /** All that was not sent yet, and what follows it. */
  #sendChunk(after: string): boolean {
    const [head, pieces, bytes] = [this.#head, this.#pieces, this.#pieceBytes];
    this.#head = '';
    this.#pieces = [];
    this.#pieceBytes = 0;
    if (bytes === 0 || this.#http10) return this.#send(head, pieces, after);
    return this.#send(`${head}${bytes.toString(16)}\r\n`, pieces, LINE_END + after);
  }

  #send(before: string, pieces: readonly Uint8Array[], after: string): boolean {
    let bytes = 0;
    for (const piece of pieces) bytes += piece.byteLength;
    if (bytes > COPIED_BYTES_MAX) return this.#sendCorked(before, pieces, after);
    const all = Buffer.allocUnsafe(before.length + bytes + after.length);
    let at = all.write(before, 0, 'latin1');
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.byteLength;
    }
    all.write(after, at, 'latin1');
    return this.#channel.socket.write(all);
  }

  #sendCorked(before: string, pieces: readonly Uint8Array[], after: string): boolean {
    const { socket } = this.#channel;
    socket.cork();
    let ready = socket.write(before, 'latin1');
    for (const piece of pieces) ready = socket.write(piece);
    if (after !== '') ready = socket.write(after, 'latin1');
    socket.uncork();
    return ready;
  }

  #destroyUnlessTaken(lingerMs: number): void {
    const { socket } = this.#channel;
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    // Called when all that was written before has gone out, or never will.
    socket.write(NOTHING, () => clearTimeout(timer));
  }
}

const NOTHING = new Uint8Array(0);
