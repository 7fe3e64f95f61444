/** What is said about a key wherever it is shown. */
import type { Key } from '../../api/queries.ts';
import { count, exactCredits, nanosOf, plural, shortCredits } from '../../ui/format.ts';
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

/** A credit key of an account has no balance of its own: a cap at most. */
export function balanceOf(key: Key): {
  readonly all: number | null;
  readonly used: number;
  /** Null where nothing of its own limits it. */
  readonly left: number | null;
  readonly period: string | null;
} {
  if (key.mode === 'token_budget') return { all: key.budget, used: key.used, left: key.remaining, period: key.period };
  if (key.account === undefined) return { all: key.credit, used: key.used, left: key.remaining, period: null };
  if (key.cap === undefined) return { all: null, used: key.used, left: null, period: null };
  const { amount, used, period } = key.cap;
  return { all: amount, used, left: Math.max(0, amount - used - key.reserved), period };
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
  none: 'in total',
};

export function limitText(key: Key): string | null {
  return key.rpm_limit === null ? null : `${plural(key.rpm_limit, 'request')} per minute`;
}

type Rates = Pick<Key, 'rpm_limit' | 'tpm_limit' | 'parallel_limit'>;

/** Of a key or an account. */
export function limitsText({ rpm_limit: requests, tpm_limit: tokens, parallel_limit: parallel }: Rates): string {
  const limits = [
    requests !== null && `${count(requests)} requests per minute`,
    tokens !== null && `${count(tokens)} tokens per minute`,
    parallel !== null && `${count(parallel)} parallel requests`,
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? 'none' : limits.join(', ');
}
