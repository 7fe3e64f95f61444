import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay, setImmediate as yieldTurn } from 'node:timers/promises';
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
  readonly #closing = new AbortController();
  #broken = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('close', () => this.#closing.abort());
  }

  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Whether the sandbox itself broke the connection, as a directive asked. */
  get broken(): boolean {
    return this.#broken;
  }

  async sleep(ms: number): Promise<void> {
    const { signal } = this.#closing;
    // A delay of zero still gives other requests their turn.
    const slept = ms === 0 ? yieldTurn(undefined, { signal }) : delay(Math.min(ms, 2 ** 31 - 1), undefined, { signal });
    await slept.catch(ignoreClose);
  }

  sendWhole(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    if (this.closed) return;
    const length = String(Buffer.byteLength(body));
    this.#response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
    this.#response.end(body);
  }

  /** Announces the whole body, sends half of it, and breaks the connection. */
  async sendHalf(headers: Readonly<Record<string, string>>, body: string): Promise<void> {
    if (this.closed) return;
    const bytes = Buffer.from(body);
    this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
    await this.#break(bytes.subarray(0, bytes.length >> 1));
  }

  async sendStream(
    headers: Readonly<Record<string, string>>,
    events: Iterable<StreamEvent>,
    pacing: Pacing,
  ): Promise<void> {
    if (this.closed) return;
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
      if (this.closed) return;
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
    if (this.closed) return;
    await new Promise<void>((resolve) => {
      this.#response.once('close', resolve);
      this.#response.write(last, () => resolve());
    });
    if (this.closed) return;
    this.#broken = true;
    this.#response.socket?.destroy();
  }

  async #write(text: string): Promise<void> {
    if (this.closed || text === '' || this.#response.write(text)) return;
    await once(this.#response, 'drain', { signal: this.#closing.signal }).catch(ignoreClose);
  }
}

/** Whoever waited looks at `closed` next. */
function ignoreClose(): void {}
