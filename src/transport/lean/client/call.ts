/** One request of the client, and its response on the way to the listener. */
import type { CallHandle, CallTimeouts, FailureKind, ResponseHeaders, ResponseListener } from '../../client.ts';
import { field, type Head } from '../head.ts';

/** The connection that a call is on. */
export interface CallConnection {
  pause(): void;
  resume(): void;
  destroy(): void;
}

export class ClientCall implements CallHandle {
  /** As it is written. */
  readonly head: string;
  /** Pieces that follow each other. */
  readonly body: readonly Buffer[];
  readonly bodyBytes: number;
  readonly timeouts: CallTimeouts;
  readonly #listener: ResponseListener;
  #connection: CallConnection | null = null;
  #state: 'waiting' | 'receiving' | 'over' = 'waiting';

  constructor(
    head: string,
    body: readonly Buffer[],
    bodyBytes: number,
    timeouts: CallTimeouts,
    listener: ResponseListener,
  ) {
    this.head = head;
    this.body = body;
    this.bodyBytes = bodyBytes;
    this.timeouts = timeouts;
    this.#listener = listener;
  }

  get over(): boolean {
    return this.#state === 'over';
  }

  pause(): void {
    if (this.#state === 'receiving') this.#connection?.pause();
  }

  resume(): void {
    if (this.#state === 'receiving') this.#connection?.resume();
  }

  /** Closes the connection at once, in whatever state the call is. */
  abort(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#connection?.destroy();
    this.#connection = null;
  }

  attach(connection: CallConnection): void {
    this.#connection = connection;
  }

  respond(status: number, head: Head): void {
    this.#state = 'receiving';
    this.#listener.onHead(status, new HeadFields(head));
  }

  data(piece: Buffer): void {
    if (this.#state === 'receiving') this.#listener.onData(piece);
  }

  end(): void {
    if (this.#state === 'over') return;
    this.#leave();
    this.#listener.onEnd();
  }

  fail(kind: FailureKind, code: string): void {
    if (this.#state === 'over') return;
    this.#leave();
    this.#listener.onFailure({ kind, code, detail: null });
  }

  #leave(): void {
    this.#state = 'over';
    this.#connection = null;
  }
}

class HeadFields implements ResponseHeaders {
  readonly #head: Head;

  constructor(head: Head) {
    this.#head = head;
  }

  first(lowerName: string): string | null {
    return field(this.#head, lowerName) ?? null;
  }
}
