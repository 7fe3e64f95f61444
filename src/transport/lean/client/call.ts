/** One request of the client and the way of its answer to whoever asked. */
import type { Head } from '../head.ts';

/** Exactly one of `onEnd` and `onFailure` is called, and nothing after it; nothing at all after an abort. */
export interface AnswerListener {
  onHead(status: number, head: Head): void;
  onData(piece: Buffer): void;
  onEnd(): void;
  /** `code`: the system's name for the cause, or this client's own. */
  onFailure(kind: FailureKind, code: string): void;
}

/** `unreachable`: no connection was had, so nothing was asked. */
export type FailureKind = 'unreachable' | 'connect_timeout' | 'first_byte_timeout' | 'idle_timeout' | 'broken';

export interface CallTimeouts {
  /** From the writing of the request to the head of its answer. */
  readonly firstByteMs: number;
  /** Between bytes of the answer, unless it is held up from this side. */
  readonly idleMs: number;
}

/** The connection that a call is on. */
export interface CallConnection {
  pause(): void;
  resume(): void;
  destroy(): void;
}

export class ClientCall {
  /** As it is written. */
  readonly head: string;
  /** Pieces that follow each other. */
  readonly body: readonly Buffer[];
  readonly bodyBytes: number;
  readonly timeouts: CallTimeouts;
  readonly #listener: AnswerListener;
  #connection: CallConnection | null = null;
  #state: 'asking' | 'answering' | 'over' = 'asking';

  constructor(
    head: string,
    body: readonly Buffer[],
    bodyBytes: number,
    timeouts: CallTimeouts,
    listener: AnswerListener,
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
    if (this.#state === 'answering') this.#connection?.pause();
  }

  resume(): void {
    if (this.#state === 'answering') this.#connection?.resume();
  }

  /** Closes the connection at once, in whatever state the call is. */
  abort(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#connection?.destroy();
    this.#connection = null;
  }

  isOn(connection: CallConnection): void {
    this.#connection = connection;
  }

  answer(status: number, head: Head): void {
    this.#state = 'answering';
    this.#listener.onHead(status, head);
  }

  data(piece: Buffer): void {
    if (this.#state === 'answering') this.#listener.onData(piece);
  }

  end(): void {
    if (this.#state === 'over') return;
    this.#leave();
    this.#listener.onEnd();
  }

  fail(kind: FailureKind, code: string): void {
    if (this.#state === 'over') return;
    this.#leave();
    this.#listener.onFailure(kind, code);
  }

  #leave(): void {
    this.#state = 'over';
    this.#connection = null;
  }
}
