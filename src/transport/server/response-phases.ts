/** What the responses of both protocols have in common: how far they are, and who is told that the client is gone or reads on. */
import type { Writable } from 'node:stream';

export abstract class ResponsePhases {
  protected phase: 'open' | 'streaming' | 'ended' = 'open';
  #closed = false;
  #onClose: (() => void) | null = null;
  #onDrain: (() => void) | null = null;

  /** What its content is written to. */
  protected abstract readonly written: Pick<Writable, 'once'>;

  get headersSent(): boolean {
    return this.phase !== 'open';
  }

  get closed(): boolean {
    return this.#closed;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
    if (this.#closed) listener();
  }

  onDrain(listener: () => void): void {
    if (this.#onDrain === null) this.written.once('drain', () => this.#drained());
    this.#onDrain = listener;
  }

  /** Called when the connection or the stream is closed, by whichever side. */
  connectionClosed(): void {
    if (this.phase === 'ended') return;
    this.phase = 'ended';
    this.#closed = true;
    this.#onClose?.();
  }

  #drained(): void {
    const listener = this.#onDrain;
    this.#onDrain = null;
    listener?.();
  }
}
