/** Keeps the bytes written to the client, for idempotent replay, within one budget for the whole process. */
import { ByteCollector } from '../lib/byte-collector.ts';

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

interface RecorderLimits {
  readonly replyBytes: number;
  readonly replyBufferBytes: number;
}

/** Created per exchange that has a claim; `release` must be called once the exchange has ended. */
export class ReplyRecorder {
  readonly #budget: ReplyBudget;
  readonly #limits: RecorderLimits;
  #collected: ByteCollector | null = new ByteCollector();

  constructor(budget: ReplyBudget, limits: RecorderLimits) {
    this.#budget = budget;
    this.#limits = limits;
  }

  add(chunk: Buffer): void {
    if (!this.#collected) return;
    const { length } = this.#collected;
    if (
      length + chunk.length > this.#limits.replyBytes ||
      !this.#budget.take(chunk.length, this.#limits.replyBufferBytes)
    ) {
      this.release();
      return;
    }
    // The first one is copied here: it is a view into a socket's buffer, which would stay alive as a whole.
    this.#collected.add(length === 0 ? Buffer.from(chunk) : chunk);
  }

  /** Null when the reply grew too large to be kept. */
  body(): Uint8Array | null {
    return this.#collected?.whole() ?? null;
  }

  release(): void {
    this.#budget.give(this.#collected?.length ?? 0);
    this.#collected = null;
  }
}
