/** What is said about a key wherever it is shown. */
import type { Key } from '../../api/queries.ts';
import { exactCredits, nanosOf, plural, shortCredits } from '../../ui/format.ts';
import { Credits, Dot, Tokens, type Tone } from '../../ui/values.tsx';

const TONES: Readonly<Record<Key['status'], Tone>> = {
  active: 'ok',
  suspended: 'warn',
  disabled: 'neutral',
  expired: 'neutral',
  revoked: 'bad',
};

export function KeyStatus({ status }: { status: Key['status'] }) {
  return <Dot tone={TONES[status]}>{status[0]?.toUpperCase() + status.slice(1)}</Dot>;
}

export function keyName(key: Key): string {
  return key.label ?? key.id;
}

/** An amount in the unit that the key pays with. */
export function Amount({ of, value }: { of: Key; value: number | null }) {
  if (value === null) return <span className="muted">unlimited</span>;
  return of.mode === 'credit' ? <Credits value={value} /> : <Tokens value={value} />;
}

export function unitOf(key: Key): string {
  return key.mode === 'credit' ? 'credits' : 'tokens';
}

export function amountText(key: Key, value: number | null, exact = false): string {
  if (value === null) return 'unlimited';
  if (key.mode === 'token_budget') return plural(value, 'token');
  return `${(exact ? exactCredits : shortCredits)(nanosOf(value))} credits`;
}

export const PERIODS: Readonly<Record<string, string>> = {
  day: 'per day',
  week: 'per week',
  month: 'per month',
  none: 'in all',
};

export function limitText(key: Key): string | null {
  return key.rpm_limit === null ? null : `${plural(key.rpm_limit, 'request')} per minute`;
}
