/**
 * Admissions that the store may have taken without saying so. Their requests were refused, so nobody will end their holds:
 * they are voided as soon as the store answers again. Few enough to be kept in memory; what is beyond them ends at its expiry.
 */
interface OrphanedHold {
  readonly holdId: string;
  readonly keyId: string;
}

const HOLDS_MAX = 10_000;
/** By then a commit whose acknowledgement was lost has come to its end. */
const PAUSE_MS = 1_000;

export class OrphanedHolds {
  readonly #voidHold: (hold: OrphanedHold) => Promise<unknown>;
  readonly #holds = new Map<string, OrphanedHold>();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(voidHold: (hold: OrphanedHold) => Promise<unknown>) {
    this.#voidHold = voidHold;
  }

  add(hold: OrphanedHold): void {
    if (this.#closed || this.#holds.size >= HOLDS_MAX) return;
    this.#holds.set(hold.holdId, hold);
    this.#schedule();
  }

  /** What is left then is recovered as whatever else this process held. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#timer !== null || this.#closed) return;
    this.#timer = setTimeout(() => void this.#sweep(), PAUSE_MS).unref();
  }

  async #sweep(): Promise<void> {
    await Promise.all(
      [...this.#holds.values()].map((hold) =>
        this.#voidHold(hold).then(
          () => this.#holds.delete(hold.holdId),
          () => undefined,
        ),
      ),
    );
    this.#timer = null;
    if (this.#holds.size > 0) this.#schedule();
  }
}
