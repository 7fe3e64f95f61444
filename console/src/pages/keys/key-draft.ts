/** A key as its form has it: texts as they are typed, and what they mean to the API. Pure. */
import type { Schemas } from '../../api/client.ts';
import type { Key } from '../../api/queries.ts';
import { LIMIT_NAMES, type Limits, limitOf, limitSettings, limitsOf, NO_LIMITS } from './limit-fields.tsx';

export interface Draft extends Limits {
  readonly label: string;
  readonly mode: Key['mode'];
  readonly credit: string;
  readonly budget: string;
  readonly period: string;
  readonly account: string | null;
  readonly cap: string;
  readonly provider_scope: string;
  readonly expires_at: string;
  readonly capture_days: string;
}

export const NEW: Draft = {
  ...NO_LIMITS,
  label: '',
  mode: 'credit',
  credit: '5',
  budget: '1000000',
  period: 'month',
  account: null,
  cap: '',
  provider_scope: 'all',
  expires_at: '',
  capture_days: '',
};

export function draftOf(key: Key): Draft {
  return {
    ...NEW,
    label: key.label ?? '',
    mode: key.mode,
    budget: key.mode === 'token_budget' && key.budget !== null ? String(key.budget) : '',
    period: key.mode === 'token_budget' ? key.period : (key.cap?.period ?? 'month'),
    account: key.account ?? null,
    cap: key.mode === 'credit' && key.cap !== undefined ? String(key.cap.amount) : '',
    ...limitsOf(key),
    provider_scope: key.provider_scope,
    expires_at: key.expires_at === null ? '' : key.expires_at.slice(0, 10),
    capture_days: key.capture_days === null ? '' : String(key.capture_days),
  };
}

export function settingsOf(draft: Draft) {
  return {
    label: draft.label.trim(),
    provider_scope: draft.provider_scope.trim() === '' ? 'all' : draft.provider_scope.trim(),
    ...limitSettings(draft),
    expires_at: draft.expires_at === '' ? 'never' : draft.expires_at,
    capture_days: draft.capture_days.trim() === '' ? ('off' as const) : draft.capture_days.trim(),
    ...(draft.mode === 'token_budget' && {
      budget: draft.budget.trim() === '' ? ('unlimited' as const) : draft.budget.trim(),
      period: draft.period as Schemas['NewKey']['period'],
    }),
    ...(draft.mode === 'credit' &&
      draft.account !== null && {
        cap: limitOf(draft.cap),
        period: draft.period as Schemas['NewKey']['period'],
      }),
  };
}

/** Without what is so anyway: not every role may say it. */
export function givenSettingsOf(draft: Draft) {
  const { provider_scope, addresses, capture_days, ...rest } = settingsOf(draft);
  return {
    ...rest,
    ...(capture_days !== 'off' && { capture_days }),
    ...(provider_scope !== 'all' && { provider_scope }),
    ...(addresses !== 'any' && { addresses }),
  };
}

/** Only what was changed: a colleague's edit of another field stays. */
export function changesOf(before: Draft, after: Draft): Schemas['KeyChange'] {
  const old = settingsOf(before) as Record<string, unknown>;
  const changed = Object.entries(settingsOf(after)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]),
  );
  return Object.fromEntries(changed);
}

/** What the fields are called. */
export const FIELD_NAMES = {
  label: 'Name',
  budget: 'Tokens',
  period: 'Period',
  cap: 'Cap',
  ...LIMIT_NAMES,
  expires_at: 'Expires',
  provider_scope: 'Provider',
  capture_days: 'Keep content for',
};
