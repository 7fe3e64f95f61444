/** How often a value was at most each of the bounds; the last count is for those above all of them. */
export interface HistogramCounts {
  readonly counts: readonly number[];
  readonly sum: number;
}

export class Histogram implements HistogramCounts {
  /** Ascending. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (value > (this.bounds[index] ?? Number.POSITIVE_INFINITY)) index++;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
}
