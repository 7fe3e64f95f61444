/** Readings as Prometheus reads them. Loaded with the first scrape. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { HistogramCounts } from '../../lib/histogram.ts';
import { FAMILIES, type Family, type FamilyName } from './families.ts';
import type { Reading, Sample } from './reading.ts';

/** A family without a sample is there all the same, with its help: a dashboard finds every name. */
export async function renderMetrics(reading: Reading): Promise<string> {
  const registry = new Registry();
  for (const [name, family] of Object.entries(FAMILIES) as [FamilyName, Family][]) {
    addFamily(registry, name, family, reading[name] ?? []);
  }
  return registry.metrics();
}

function addFamily(registry: Registry, name: string, family: Family, samples: readonly Sample[]): void {
  const labelNames = labelNamesOf(family);
  const options = { name, help: family.help, labelNames, registers: [registry] };
  if (family.type === 'histogram') {
    registry.registerMetric(new CountedHistogram({ ...options, registers: [] }, family.buckets ?? [], samples));
    return;
  }
  const metric = family.type === 'counter' ? new Counter(options) : new Gauge(options);
  // A counter begins at 0; a gauge without a value is absent, because 0 would say something.
  if (metric instanceof Gauge && labelNames.length === 0) metric.remove();
  for (const { labels, value } of samples) {
    if (typeof value === 'number') metric.inc(named(labelNames, labels), value);
  }
}

export function labelNamesOf({ labels, perWorker }: Family): string[] {
  return perWorker ? [...labels, 'worker'] : [...labels];
}

function named(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

type Shown = Awaited<ReturnType<Histogram<string>['get']>>;

/** It was counted elsewhere: this one only shows it. */
class CountedHistogram extends Histogram<string> {
  readonly #name: string;
  readonly #described: Omit<Shown, 'values'>;
  readonly #labelNames: readonly string[];
  readonly #bounds: readonly number[];
  readonly #samples: readonly Sample[];

  constructor(
    options: { name: string; help: string; labelNames: string[]; registers: Registry[] },
    bounds: readonly number[],
    samples: readonly Sample[],
  ) {
    super({ ...options, buckets: [...bounds] });
    this.#name = options.name;
    // The declared type is an enum of numbers; what the registry writes out is this word.
    const type = 'histogram' as unknown as Shown['type'];
    this.#described = { name: options.name, help: options.help, type, aggregator: 'sum', collect: () => {} };
    this.#labelNames = options.labelNames;
    this.#bounds = bounds;
    this.#samples = samples;
  }

  override async get(): Promise<Shown> {
    const values = this.#samples.flatMap(({ labels, value }) =>
      typeof value === 'number' ? [] : this.#lines(named(this.#labelNames, labels), value),
    );
    return { ...this.#described, values };
  }

  /** What the registry asks for instead. */
  getForPromString(): Promise<Shown> {
    return this.get();
  }

  #lines(labels: Record<string, string>, { counts, sum }: HistogramCounts): Shown['values'] {
    let total = 0;
    const buckets = counts.map((count, index) => {
      total += count;
      const le = this.#bounds[index] ?? '+Inf';
      return { metricName: `${this.#name}_bucket`, labels: { le, ...labels }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${this.#name}_sum`, labels, value: sum },
      { metricName: `${this.#name}_count`, labels, value: total },
    ];
  }
}
