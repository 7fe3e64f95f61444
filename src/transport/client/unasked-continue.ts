/**
 * A server may send `100 Continue` although nobody expects it, and a client may ignore that (RFC 9110, 15.2). undici takes
 * it for a fault and ends the call, so that it is shown another informational status instead, which it leaves to its
 * caller. Only the beginnings of responses are looked at: content passes at the cost of one comparison a read.
 */
import type { Socket } from 'node:net';

const CONTINUE = Buffer.from('HTTP/1.1 100');
const MINOR_VERSION = 7;
const STATUS = 9;
const [ZERO, NINE, CR, LF, TWO] = [0x30, 0x39, 0x0d, 0x0a, 0x32];
/** What separates a head from what follows it. */
const HEAD_END = Buffer.from('\r\n\r\n');

export function ignoreUnaskedContinue(socket: Socket): void {
  const heads = new ResponseHeads();
  const { read, write } = socket;
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read.call(socket, size);
    if (heads.awaited && Buffer.isBuffer(chunk)) heads.pass(chunk);
    return chunk;
  };
  // The head of a request is written as text, content as bytes, and the frame of a chunk as text that begins with its end.
  socket.write = ((data: string | Uint8Array, ...rest: []) => {
    if (typeof data === 'string' && !data.startsWith('\r')) heads.expect();
    return write.call(socket, data, ...rest);
  }) as typeof socket.write;
}

/** Follows the responses of a connection up to the final head of each. */
class ResponseHeads {
  /** How much of a status line has matched, or -1 within a head whose end is looked for. */
  #matched = 0;
  #endMatched = 0;
  /** A request was written whose final response has not begun. */
  awaited = false;

  expect(): void {
    this.awaited = true;
    this.#matched = 0;
  }

  /** Changes a `100` in place. */
  pass(chunk: Buffer): void {
    for (let at = 0; at < chunk.length && this.awaited; at++) {
      const byte = chunk[at] ?? 0;
      if (this.#matched === -1) this.#lookForEnd(byte);
      else if (this.#isNext(byte)) this.#next(chunk, at);
      else this.#leave(byte);
    }
  }

  #isNext(byte: number): boolean {
    return byte === CONTINUE[this.#matched] || (this.#matched === MINOR_VERSION && byte >= ZERO && byte <= NINE);
  }

  #next(chunk: Buffer, at: number): void {
    this.#matched += 1;
    if (this.#matched < CONTINUE.length) return;
    chunk[at] = TWO;
    this.#matched = -1;
  }

  /** Another informational head may have a `100` behind it; before a head there may be empty lines. */
  #leave(byte: number): void {
    if (this.#matched === 0 && (byte === CR || byte === LF)) return;
    if (this.#matched > STATUS) this.#matched = -1;
    else this.awaited = false;
  }

  #lookForEnd(byte: number): void {
    this.#endMatched = byte === HEAD_END[this.#endMatched] ? this.#endMatched + 1 : byte === CR ? 1 : 0;
    if (this.#endMatched < HEAD_END.length) return;
    this.#endMatched = 0;
    this.#matched = 0;
  }
}
