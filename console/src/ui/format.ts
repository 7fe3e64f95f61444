/** Amounts, times and sizes as people read them. What is rounded here is exact in the title and in the clipboard. */

const NANOS = 1_000_000_000n;
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** Decimal credits from a number of the API, or from nanos as text. */
export function nanosOf(credits: number): bigint {
  return BigInt(Math.round(credits * 1e9));
}

/** Every decimal that there is, and at least two: `1,204.50`, `0.000012`. */
export function exactCredits(nanos: bigint, least = 2): string {
  const sign = nanos < 0n ? '−' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const decimals = (size % NANOS).toString().padStart(9, '0').replace(/0+$/, '').padEnd(least, '0');
  return `${sign}${whole.format(size / NANOS)}.${decimals}`;
}

/** How many decimals an amount needs, so that the others of its column can have as many. */
export function decimalsOf(nanos: bigint): number {
  return exactCredits(nanos).split('.')[1]?.length ?? 0;
}

/** Four decimals; all of them where four would leave nothing of the amount. */
export function shortCredits(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  if (size !== 0n && size < 50_000n) return exactCredits(nanos, 4);
  return exactCredits(((nanos + (nanos < 0n ? -50_000n : 50_000n)) / 100_000n) * 100_000n, 4);
}

/** For headlines: two decimals, more only where they would be lost. */
export function headlineCredits(nanos: bigint): string {
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 5_000_000_000n) return shortCredits(nanos);
  return exactCredits(((nanos + 5_000_000n) / 10_000_000n) * 10_000_000n);
}

export function count(value: number | bigint): string {
  return whole.format(value);
}

export function shortCount(value: number): string {
  return value < 10_000 ? whole.format(value) : compact.format(value);
}

const ticks = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });
const compactTicks = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 4 });

/** A value of an axis. Axes choose round ones, so that what is left out is only the noise of binary fractions. */
export function tick(value: number): string {
  return value < 10_000 ? ticks.format(value) : compactTicks.format(value);
}

export function milliseconds(ms: number): string {
  if (ms === 0) return '<\u{a0}1\u{a0}ms';
  if (ms < 1) return `${ms.toFixed(2)}\u{a0}ms`;
  if (ms < 10 && !Number.isInteger(ms)) return `${ms.toFixed(1)}\u{a0}ms`;
  if (ms < 1_000) return `${Math.round(ms)}\u{a0}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)}\u{a0}s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} KB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

export function percent(part: number, all: number): string {
  if (all === 0) return '0 %';
  const value = (part / all) * 100;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(value < 1 ? 2 : 1)}\u{a0}%`;
}

const STEPS: readonly (readonly [number, Intl.RelativeTimeFormatUnit])[] = [
  [60, 'second'],
  [3_600, 'minute'],
  [86_400, 'hour'],
  [2_592_000, 'day'],
  [31_536_000, 'month'],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
/** Where the short form would be an abbreviation after a word: last mo. */
const spelled = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export function ago(at: number, now: number): string {
  const seconds = (at - now) / 1_000;
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  let unitSeconds = 1;
  for (const [limit, unit] of STEPS) {
    if (size < limit) {
      return (unit === 'month' ? spelled : relative).format(Math.round(seconds / unitSeconds), unit);
    }
    unitSeconds = limit;
  }
  return spelled.format(Math.round(seconds / 31_536_000), 'year');
}

const absolute = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** In the reader's zone, which is named. */
export function fullTime(at: number): string {
  return `${absolute.format(at)} (${zone})`;
}

export function plural(amount: number | bigint, one: string, many = `${one}s`): string {
  return `${whole.format(amount)} ${Number(amount) === 1 ? one : many}`;
}
