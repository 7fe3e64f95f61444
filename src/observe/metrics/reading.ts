/** The values of metrics at one moment, as plain data: workers send them to the primary process. */
import type { HistogramCounts } from '../../lib/histogram.ts';
import { type FamilyName, familyOf } from './families.ts';

export interface Sample {
  /** The values of the family's labels, in their order. */
  readonly labels: readonly string[];
  readonly value: number | HistogramCounts;
}

export type Reading = Partial<Record<FamilyName, readonly Sample[]>>;

/** One worker's values, under its number where each has its own. */
export function ofWorker(reading: Reading, worker: number): Reading {
  const labelled: Reading = {};
  for (const [name, samples] of entries(reading)) {
    labelled[name] = familyOf(name).perWorker
      ? samples.map(({ labels, value }) => ({ labels: [...labels, String(worker)], value }))
      : samples;
  }
  return labelled;
}

/** The sums of values with the same labels. */
export function merged(readings: readonly Reading[]): Reading {
  const sums = new Map<FamilyName, Map<string, Sample>>();
  for (const reading of readings) {
    for (const [name, samples] of entries(reading)) {
      const family = sums.get(name) ?? new Map<string, Sample>();
      sums.set(name, family);
      for (const sample of samples) {
        const key = JSON.stringify(sample.labels);
        const known = family.get(key);
        family.set(
          key,
          known === undefined ? sample : { labels: sample.labels, value: sum(known.value, sample.value) },
        );
      }
    }
  }
  return Object.fromEntries([...sums].map(([name, family]) => [name, [...family.values()]]));
}

/** What only grows: counters and histograms. */
export function cumulative(reading: Reading): Reading {
  return Object.fromEntries(entries(reading).filter(([name]) => familyOf(name).type !== 'gauge'));
}

function entries(reading: Reading): readonly (readonly [FamilyName, readonly Sample[]])[] {
  return Object.entries(reading) as [FamilyName, readonly Sample[]][];
}

function sum(a: Sample['value'], b: Sample['value']): Sample['value'] {
  if (typeof a === 'number') return typeof b === 'number' ? a + b : b;
  if (typeof b === 'number') return a;
  return { counts: a.counts.map((count, index) => count + (b.counts[index] ?? 0)), sum: a.sum + b.sum };
}
