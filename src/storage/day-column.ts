/** The day that the hour of a column begins in, in SQL that both engines read. */
import { DAY_MS } from '../core/time.ts';
import type { ZoneOffset } from '../core/time-zone.ts';

/** As the midnight of UTC on that date; `offsets` of the time zone whose days are meant, none for UTC. */
export function dayColumn(column: string, offsets: readonly ZoneOffset[] = []): string {
  const [first, ...later] = offsets;
  const cases = later.toReversed().map(({ fromMs, offsetMs }) => `WHEN ${column} >= ${fromMs} THEN ${offsetMs}`);
  const always = String(first?.offsetMs ?? 0);
  const ahead = cases.length === 0 ? always : `CASE ${cases.join(' ')} ELSE ${always} END`;
  return `(${column} + (${ahead})) / ${DAY_MS} * ${DAY_MS}`;
}
