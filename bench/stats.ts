/** Medians, percentiles and bootstrap intervals. Seeded, so that the same samples always print the same interval. */

export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** How many rounds the figure rests on. */
  readonly rounds: number;
}

export type Series = ReadonlyMap<number, number>;

const RESAMPLES = 2000;
const SEED = 0x5eed;

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Linear interpolation between the closest ranks; NaN for no values. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((a, b) => a - b);
  const position = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}

/** The median of `numerator / denominator` over the rounds that both have, with its 95 % bootstrap interval. */
export function pairedRatio(numerator: Series, denominator: Series): Interval | null {
  return bootstrapMedian(paired(numerator, denominator, (a, b) => a / b));
}

/** The median of `a - b` over the rounds that both have, with its 95 % bootstrap interval. */
export function pairedDifference(a: Series, b: Series): Interval | null {
  return bootstrapMedian(paired(a, b, (x, y) => x - y));
}

export function bootstrapMedian(values: readonly number[]): Interval | null {
  if (values.length === 0) return null;
  const random = seededRandom(SEED);
  const medians: number[] = [];
  for (let i = 0; i < RESAMPLES; i++) {
    medians.push(median(values.map(() => values[Math.floor(random() * values.length)] ?? Number.NaN)));
  }
  return {
    median: median(values),
    low: percentile(medians, 2.5),
    high: percentile(medians, 97.5),
    rounds: values.length,
  };
}

function paired(a: Series, b: Series, combine: (a: number, b: number) => number): number[] {
  const out: number[] = [];
  for (const [round, left] of a) {
    const right = b.get(round);
    if (right !== undefined) out.push(combine(left, right));
  }
  return out;
}

/** Mulberry32: small, fast and good enough to draw rounds with. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
