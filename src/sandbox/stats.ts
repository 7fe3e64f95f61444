/** Counters for tests that must know what reached the provider. */
export type SandboxStats = Readonly<Pick<Stats, 'begun' | 'aborted' | 'live' | 'until'>>;

export class Stats {
  /** Requests that arrived. */
  begun = 0;
  /** Requests whose connection the client closed before the answer ended. */
  aborted = 0;
  /** Requests that are neither answered nor aborted. */
  live = 0;
  readonly #waiting = new Set<() => void>();

  begin(): void {
    this.begun += 1;
    this.live += 1;
    this.#changed();
  }

  end(aborted: boolean): void {
    if (aborted) this.aborted += 1;
    this.live -= 1;
    this.#changed();
  }

  /** Resolves as soon as the condition holds; it is evaluated now and after every change. */
  until(condition: (stats: SandboxStats) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition(this)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  #changed(): void {
    for (const look of this.#waiting) look();
  }
}
