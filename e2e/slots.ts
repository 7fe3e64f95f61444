/** How many programs run at once. Most of their time they wait: for an answer, or for their own pauses between retries. */
export class Slots {
  /** In the order of the calls; what is long goes before the rest, so that it does not come last and alone. */
  readonly #waiting: { readonly long: (() => void)[]; readonly short: (() => void)[] } = { long: [], short: [] };
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(length: 'long' | 'short', work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting[length].push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.long.shift() ?? this.#waiting.short.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
