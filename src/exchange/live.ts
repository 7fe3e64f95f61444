/** The exchanges that hold money right now: once a second their progress is marked, and a drain can stop them. */
import type { Ledger, Mark } from '../ledger/port.ts';

const MARK_INTERVAL_MS = 1_000;

export interface LiveExchange {
  /** What recovery would charge if the process died now; null while nothing is owed or nothing has changed. */
  progress(): Mark | null;
  /** Ends the exchange as if its client had gone, but tells the client. */
  stop(): void;
}

export class LiveExchanges {
  readonly #ledger: Pick<Ledger, 'mark'>;
  readonly #live = new Set<LiveExchange>();
  #timer: NodeJS.Timeout | null = null;
  #whenEmpty: (() => void) | null = null;

  constructor(ledger: Pick<Ledger, 'mark'>) {
    this.#ledger = ledger;
  }

  get size(): number {
    return this.#live.size;
  }

  add(exchange: LiveExchange): void {
    this.#live.add(exchange);
    this.#timer ??= setInterval(() => this.#mark(), MARK_INTERVAL_MS).unref();
  }

  remove(exchange: LiveExchange): void {
    this.#live.delete(exchange);
    if (this.#live.size > 0) return;
    if (this.#whenEmpty) this.#whenEmpty();
  }

  /** Waits until nothing is live; at the deadline, stops what still is and waits for its settlement. */
  async drain(deadlineMs: number): Promise<void> {
    if (this.#live.size > 0) {
      const timer = setTimeout(() => {
        for (const exchange of this.#live) exchange.stop();
      }, deadlineMs);
      await new Promise<void>((resolve) => {
        this.#whenEmpty = resolve;
      });
      clearTimeout(timer);
    }
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #mark(): void {
    // An idle gateway uses no CPU: the interval ends with the last exchange and begins again with the next.
    if (this.#live.size === 0 && this.#timer) {
      clearInterval(this.#timer);
      this.#timer = null;
      return;
    }
    for (const exchange of this.#live) {
      const mark = exchange.progress();
      if (mark) this.#ledger.mark(mark);
    }
  }
}
