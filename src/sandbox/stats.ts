/** Counters for tests that must know what reached the provider. */
export interface SandboxStats {
  /** Requests that arrived. */
  readonly begun: number;
  /** Requests whose connection the client closed before the answer ended. */
  readonly aborted: number;
  /** Requests that are neither answered nor aborted. */
  readonly live: number;
  /** Resolves as soon as the condition holds; it is evaluated now and after every change. */
  until(condition: (stats: SandboxStats) => boolean): Promise<void>;
}

export class Stats implements SandboxStats {
  #begun = 0;
  #aborted = 0;
  #live = 0;
  readonly #waiting = new Set<() => void>();

  get begun(): number {
    return this.#begun;
  }

  get aborted(): number {
    return this.#aborted;
  }

  get live(): number {
    return this.#live;
  }

  begin(): void {
    this.#begun += 1;
    this.#live += 1;
    this.#changed();
  }

  end(aborted: boolean): void {
    if (aborted) this.#aborted += 1;
    this.#live -= 1;
    this.#changed();
  }

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
