/** A small seeded generator, so that a seed reproduces a run exactly on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An independent stream: the same for the same pair, whatever was drawn elsewhere. */
  static of(seed: number, step: number): Random {
    const random = new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b));
    random.#next();
    return random;
  }

  /** From 0 to `below` − 1. */
  int(below: number): number {
    return Math.floor((this.#next() / 2 ** 32) * below);
  }

  /** From `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.int(most - least + 1);
  }

  chance(percent: number): boolean {
    return this.int(100) < percent;
  }

  pick<T>(list: readonly [T, ...T[]]): T;
  pick<T>(list: readonly T[]): T | undefined;
  pick<T>(list: readonly T[]): T | undefined {
    return list[this.int(list.length)];
  }

  /** By weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let rest = this.int(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of entries) {
      if (rest < weight) return name;
      rest -= weight;
    }
    throw new Error('no weight was drawn');
  }

  /** SplitMix32. */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
