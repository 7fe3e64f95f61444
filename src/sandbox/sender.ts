import type { ServerResponse } from 'node:http';
import type { StreamEvent } from './dialect.ts';
import { reset } from './reset.ts';

/** Events are gathered up to about this size into one write. */
const BATCH_CHARACTERS = 16_384;

interface Pacing {
  /** Undefined: as fast as the client reads. */
  readonly delayMs: number | undefined;
  /** The connection breaks after so many content chunks. */
  readonly failAfter: number | undefined;
}

/** Writes one response. Every wait ends at once when the connection closes; nothing is written after that. */
export class Sender {
  readonly #response: ServerResponse;
  #closed = false;
  #wake: (() => void) | undefined;
  #broken = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('close', () => {
      this.#closed = true;
      this.#wake?.();
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether the sandbox itself broke the connection, as a directive asked. */
  get broken(): boolean {
    return this.#broken;
  }

  async sleep(ms: number): Promise<void> {
    await this.#until((done) => {
      // A delay of zero still gives other requests their turn.
      if (ms === 0) {
        setImmediate(done);
        return undefined;
      }
      const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
      return () => clearTimeout(timer);
    });
  }

  sendWhole(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    if (this.#closed) return;
    const length = String(Buffer.byteLength(body));
    this.#response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
    this.#response.end(body);
  }

  /** Announces the whole body, sends half of it, and breaks the connection. */
  async sendHalf(headers: Readonly<Record<string, string>>, body: string): Promise<void> {
    if (this.#closed) return;
    const bytes = Buffer.from(body);
    this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
    await this.#break(bytes.subarray(0, bytes.length >> 1));
  }

  async sendStream(
    headers: Readonly<Record<string, string>>,
    events: Iterable<StreamEvent>,
    pacing: Pacing,
  ): Promise<void> {
    if (this.#closed) return;
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...headers,
    });
    let batch = '';
    let chunks = 0;
    for (const event of events) {
      if (event.content && pacing.delayMs !== undefined) {
        await this.#write(batch);
        batch = '';
        await this.sleep(pacing.delayMs);
      }
      batch += event.text;
      if (event.content) chunks += 1;
      if (event.content && chunks === pacing.failAfter) return this.#break(batch);
      if (batch.length >= BATCH_CHARACTERS) {
        await this.#write(batch);
        batch = '';
        await this.sleep(0);
      }
      if (this.#closed) return;
    }
    this.#response.end(batch);
  }

  /** Resets the connection before anything was sent. */
  reset(): void {
    this.#broken = true;
    if (this.#response.socket !== null) reset(this.#response.socket);
  }

  /** All that was written reaches the client before the connection ends without the body's end. */
  async #break(last: string | Uint8Array): Promise<void> {
    await this.#until((done) => {
      this.#response.write(last, () => done());
      return undefined;
    });
    if (this.#closed) return;
    this.#broken = true;
    this.#response.socket?.destroy();
  }

  async #write(text: string): Promise<void> {
    if (this.#closed || text === '' || this.#response.write(text)) return;
    await this.#until((done) => {
      this.#response.once('drain', done);
      return () => this.#response.off('drain', done);
    });
  }

  /** Waits for `done` or for the close of the connection; `start` may return its own clean-up. */
  #until(start: (done: () => void) => (() => void) | undefined): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        this.#wake = undefined;
        resolve();
      };
      const undo = start(done);
      this.#wake = () => {
        undo?.();
        done();
      };
    });
  }
}
