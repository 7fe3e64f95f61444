/**
 * Holds of admissions that failed, but which the store may have taken all the same: their requests were refused, so nobody
 * will end them. They are voided as soon as the store answers again, which also keeps an admission from being applied late.
 * Kept in memory up to a bound; holds beyond it end at their expiry.
 */
interface OrphanedHold {
  readonly holdId: string;
  readonly keyId: string;
  /** Of the run whose hold it is. */
  readonly runId?: string | undefined;
}

const HOLDS_MAX = 10_000;
/** A failed admission that is sent again is sent within this time. */
const PAUSE_MS = 1_000;

export class OrphanedHolds {
  readonly #voidHold: (hold: OrphanedHold) => Promise<unknown>;
  /** Those of the last pause, and those that have waited for a whole one. */
  #fresh = new Map<string, OrphanedHold>();
  readonly #due = new Map<string, OrphanedHold>();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(voidHold: (hold: OrphanedHold) => Promise<unknown>) {
    this.#voidHold = voidHold;
  }

  add(hold: OrphanedHold): void {
    if (this.#closed || this.#fresh.size + this.#due.size >= HOLDS_MAX) return;
    this.#fresh.set(hold.holdId, hold);
    this.#schedule();
  }

  /** Its admission is sent again: whoever does that ends the hold, or adds it again. */
  remove(holdId: string): void {
    if (this.#timer === null) return;
    this.#fresh.delete(holdId);
    this.#due.delete(holdId);
  }

  /** What is left is recovered like everything else that this process held. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#timer !== null || this.#closed) return;
    this.#timer = setTimeout(() => void this.#sweep(), PAUSE_MS).unref();
  }

  async #sweep(): Promise<void> {
    const sent = [...this.#due.values()].map((hold) =>
      this.#voidHold(hold).then(
        () => this.#due.delete(hold.holdId),
        () => undefined,
      ),
    );
    for (const hold of this.#fresh.values()) this.#due.set(hold.holdId, hold);
    this.#fresh = new Map();
    await Promise.all(sent);
    this.#timer = null;
    if (this.#fresh.size + this.#due.size > 0) this.#schedule();
  }
}
