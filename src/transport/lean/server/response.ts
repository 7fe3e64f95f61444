/** The answer to one request: its head, its framing, and as few writes to the socket as possible. */
import type { Socket } from 'node:net';
import { dateLine, statusLine } from '../head-lines.ts';
import type { IncomingRequest } from './request.ts';

/** What is larger is not copied to go out in one piece. */
const COPIED_BYTES_MAX = 16 * 1_024;
const LINE_END = '\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const CLOSE = 'Connection: close\r\n';

/** The connection, as its answer sees it. */
export interface AnswerSide {
  readonly socket: Socket;
  /** The Connection lines of an answer after which the connection is used again. */
  readonly keepAliveLines: string;
  /**
   * Whether the connection is used again after this answer; not possible where only the close ends it. Asked once, when
   * its head is made, and kept to.
   */
  keepsAlive(framed: boolean): boolean;
  /** The answer is complete. */
  answered(): void;
}

/** One per request. After its end, and after the client has gone, its methods do nothing. */
export class Answer {
  readonly #side: AnswerSide;
  readonly #withoutContent: boolean;
  readonly #http10: boolean;
  #phase: 'open' | 'begun' | 'over' = 'open';
  /** Not sent yet: it goes with the first bytes. */
  #head = '';
  /** Not sent yet: what is written in one go of the event loop goes out as one chunk. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #protocol: string | null = null;
  #gone = false;
  #onGone: (() => void) | null = null;
  #onDrained: (() => void) | null = null;

  constructor(request: IncomingRequest, side: AnswerSide) {
    this.#side = side;
    this.#withoutContent = request.kind.method === 'HEAD';
    this.#http10 = request.kind.http10;
  }

  /** Whether a status has been given. */
  get begun(): boolean {
    return this.#phase !== 'open';
  }

  /** Whether the client went away before the answer was complete. */
  get gone(): boolean {
    return this.#gone;
  }

  /** At most one listener, called at once when the client has gone already. */
  whenGone(listener: () => void): void {
    this.#onGone = listener;
    if (this.#gone) listener();
  }

  /** At most one listener, called once. */
  whenDrained(listener: () => void): void {
    this.#onDrained = listener;
  }

  /** Before the head: the answer names a protocol that the client must change to. */
  demandUpgrade(protocol: string): void {
    this.#protocol = protocol;
  }

  /** A whole answer. `fields` are lines, each made by `fieldLine`. */
  whole(status: number, fields: string, content: Uint8Array): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'over';
    const head = this.#headOf(status, `${fields}content-length: ${content.byteLength}\r\n`, true);
    this.#send(`${head}\r\n`, this.#withoutContent ? [] : [content], '');
    this.#side.answered();
  }

  /** The head of an answer whose length is not known. It is sent with the first bytes, or by `flush`. */
  begin(status: number, fields: string): void {
    if (this.#phase !== 'open') return;
    const framing = this.#http10 ? '' : 'Transfer-Encoding: chunked\r\n';
    this.#head = `${this.#headOf(status, fields, !this.#http10)}${framing}\r\n`;
    this.#phase = 'begun';
  }

  flush(): void {
    if (this.#head !== '' && this.#pieceBytes === 0) this.#sendChunk('');
  }

  /** False when the client reads too slowly: stop until `whenDrained`. */
  write(bytes: Buffer): boolean {
    // An empty chunk would be the end of the answer.
    if (this.#phase !== 'begun' || bytes.length === 0 || this.#withoutContent) return true;
    if (this.#pieceBytes === 0) process.nextTick(Answer.#sendPieces, this);
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    const { writableLength, writableHighWaterMark } = this.#side.socket;
    return writableLength + this.#pieceBytes < writableHighWaterMark;
  }

  /** The last bytes. A client that has not taken them `lingerMs` later is cut off; without it, waited for. */
  end(bytes: Uint8Array, lingerMs?: number): void {
    if (this.#phase !== 'begun') return;
    this.#phase = 'over';
    if (!this.#withoutContent && bytes.byteLength > 0) {
      this.#pieces.push(bytes);
      this.#pieceBytes += bytes.byteLength;
    }
    this.#sendChunk(this.#withoutContent || this.#http10 ? '' : LAST_CHUNK);
    if (lingerMs !== undefined) this.#cutUnlessTaken(lingerMs);
    this.#side.answered();
  }

  /** Breaks the connection: the client must not take what it has for a complete answer. */
  cut(): void {
    // After its end the connection belongs to the next request.
    if (this.#phase === 'over') return;
    const { socket } = this.#side;
    // Where only the close ends an answer, an orderly one would make it look complete.
    if (this.#http10 && this.#phase === 'begun') socket.resetAndDestroy();
    else socket.destroy();
  }

  /** Told by the connection: the client is gone. */
  lost(): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#head = '';
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#gone = true;
    this.#onGone?.();
  }

  /** Told by the connection: what was written has gone out. */
  drained(): void {
    const listener = this.#onDrained;
    this.#onDrained = null;
    listener?.();
  }

  #headOf(status: number, fields: string, framed: boolean): string {
    const keeps = this.#side.keepsAlive(framed);
    return `${statusLine(status)}${fields}${dateLine()}${this.#connectionLines(keeps)}`;
  }

  #connectionLines(keeps: boolean): string {
    if (this.#protocol === null) return keeps ? this.#side.keepAliveLines : CLOSE;
    return `Upgrade: ${this.#protocol}\r\nConnection: Upgrade${keeps ? '' : ', close'}\r\n`;
  }

  static #sendPieces(answer: Answer): void {
    // Whoever was told to stop for these pieces alone need not wait any longer.
    if (answer.#pieceBytes > 0 && answer.#sendChunk('')) answer.drained();
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
    return this.#side.socket.write(all);
  }

  #sendCorked(before: string, pieces: readonly Uint8Array[], after: string): boolean {
    const { socket } = this.#side;
    socket.cork();
    let ready = socket.write(before, 'latin1');
    for (const piece of pieces) ready = socket.write(piece);
    if (after !== '') ready = socket.write(after, 'latin1');
    socket.uncork();
    return ready;
  }

  #cutUnlessTaken(lingerMs: number): void {
    const { socket } = this.#side;
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    // Called when all that was written before has gone out, or never will.
    socket.write(NOTHING, () => clearTimeout(timer));
  }
}

const NOTHING = new Uint8Array(0);
