/** Values by their labels. A request adds to a dozen of them, so a series is found by one look-up of a joined text. */
import { Histogram } from '../../lib/histogram.ts';
import type { Sample } from './reading.ts';

/** No catalog has so many models; one that is replaced all the time must not fill the memory. */
const SERIES_MAX = 10_000;
const SEPARATOR = '\0';
/** Where further series are counted. */
const OTHER = 'other';

interface Series<Value> {
  readonly labels: readonly string[];
  value: Value;
}

class Table<Value> {
  readonly #series = new Map<string, Series<Value>>();
  readonly #first: () => Value;

  constructor(first: () => Value) {
    this.#first = first;
  }

  protected series(key: string): Series<Value> {
    return this.#series.get(key) ?? this.#add(key);
  }

  #add(key: string): Series<Value> {
    const labels = key === '' ? [] : key.split(SEPARATOR);
    if (this.#series.size >= SERIES_MAX && labels.some((label) => label !== OTHER)) {
      return this.series(labels.map(() => OTHER).join(SEPARATOR));
    }
    const series = { labels, value: this.#first() };
    this.#series.set(key, series);
    return series;
  }

  protected values(): readonly Series<Value>[] {
    return [...this.#series.values()];
  }
}

/** Counts that only grow. Amounts of money are in nanos here: whole numbers, exact up to nine million credits. */
export class CounterTable extends Table<number> {
  constructor() {
    super(() => 0);
  }

  add(amount: number, key: string): void {
    this.series(key).value += amount;
  }

  /** `unit`: how much of what was added is one of the metric's unit. */
  samples(unit = 1): readonly Sample[] {
    return this.values().map(({ labels, value }) => ({ labels, value: value / unit }));
  }
}

export class HistogramTable extends Table<Histogram> {
  constructor(bounds: readonly number[]) {
    super(() => new Histogram(bounds));
  }

  observe(value: number, key: string): void {
    this.series(key).value.observe(value);
  }

  samples(): readonly Sample[] {
    return this.values().map(({ labels, value }) => ({ labels, value: { counts: [...value.counts], sum: value.sum } }));
  }
}

/** What finds a series again. No label has a zero byte: they are names of the catalog and words of this program. */
export function seriesKey(first: string, ...others: readonly string[]): string {
  return others.length === 0 ? first : `${first}${SEPARATOR}${others.join(SEPARATOR)}`;
}
