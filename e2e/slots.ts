/** How many programs run at once, so that the machine is busy and each of them gets on. */
export class Slots {
  /** In the order of the calls; what is long goes before the rest, so that it does not come last and alone. */
  readonly #queues = { long: [] as (() => void)[], short: [] as (() => void)[] };
  /** What waits most of its time, for its own pauses between retries, has slots of its own: it would keep the others idle. */
  readonly #pausing: Slots | null;
  #free: number;

  constructor(count: number, pausing = 0) {
    this.#free = count;
    this.#pausing = pausing > 0 ? new Slots(pausing) : null;
  }

  async use<T>(kind: 'long' | 'short' | 'pausing', work: () => Promise<T>): Promise<T> {
    if (kind === 'pausing' && this.#pausing !== null) return this.#pausing.use('long', work);
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queues[kind === 'short' ? 'short' : 'long'].push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#queues.long.shift() ?? this.#queues.short.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
