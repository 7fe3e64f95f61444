/** Keeps the bytes written to the client, for idempotent replay, within one budget for the whole process. */

export class ReplyBudget {
  #usedBytes = 0;

  take(bytes: number, limitBytes: number): boolean {
    if (this.#usedBytes + bytes > limitBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }
}

export interface RecorderLimits {
  readonly replyBytes: number;
  readonly replyBufferBytes: number;
}

/** Created per exchange that has a claim; `release` must be called once the exchange has ended. */
export class ReplyRecorder {
  readonly #budget: ReplyBudget;
  readonly #limits: RecorderLimits;
  #chunks: Uint8Array[] | null = [];
  #bytes = 0;

  constructor(budget: ReplyBudget, limits: RecorderLimits) {
    this.#budget = budget;
    this.#limits = limits;
  }

  add(chunk: Uint8Array): void {
    if (!this.#chunks) return;
    if (
      this.#bytes + chunk.byteLength > this.#limits.replyBytes ||
      !this.#budget.take(chunk.byteLength, this.#limits.replyBufferBytes)
    ) {
      this.release();
      return;
    }
    // A copy: the chunk is a view into a socket's buffer, which would stay alive as a whole.
    this.#chunks.push(Uint8Array.from(chunk));
    this.#bytes += chunk.byteLength;
  }

  /** Null when the reply grew too large to be kept. */
  body(): Uint8Array | null {
    return this.#chunks && Buffer.concat(this.#chunks, this.#bytes);
  }

  release(): void {
    this.#chunks = null;
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
