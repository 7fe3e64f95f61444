/** A key as its form has it: texts as they are typed, and what they mean to the API. Pure. */
import type { Schemas } from '../../api/client.ts';
import type { Key } from '../../api/queries.ts';

export interface Draft {
  readonly label: string;
  readonly mode: Key['mode'];
  readonly credit: string;
  readonly budget: string;
  readonly period: string;
  readonly account: string | null;
  readonly cap: string;
  readonly rpm_limit: string;
  readonly tpm_limit: string;
  readonly parallel_limit: string;
  readonly output_limit: string;
  readonly addresses: readonly string[];
  readonly models: readonly string[];
  readonly provider_scope: string;
  readonly expires_at: string;
}

export const NEW: Draft = {
  label: '',
  mode: 'credit',
  credit: '5',
  budget: '1000000',
  period: 'month',
  account: null,
  cap: '',
  rpm_limit: '',
  tpm_limit: '',
  parallel_limit: '',
  output_limit: '',
  addresses: [],
  models: [],
  provider_scope: 'all',
  expires_at: '',
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
    rpm_limit: numberText(key.rpm_limit),
    tpm_limit: numberText(key.tpm_limit),
    parallel_limit: numberText(key.parallel_limit),
    output_limit: numberText(key.output_limit),
    addresses: key.addresses ?? [],
    models: key.models ?? [],
    provider_scope: key.provider_scope,
    expires_at: key.expires_at === null ? '' : key.expires_at.slice(0, 10),
  };
}

function numberText(value: number | null): string {
  return value === null ? '' : String(value);
}

function limitOf(text: string): string {
  return text.trim() === '' ? 'none' : text.trim();
}

export function settingsOf(draft: Draft) {
  return {
    label: draft.label.trim(),
    provider_scope: draft.provider_scope.trim() === '' ? 'all' : draft.provider_scope.trim(),
    models: draft.models.length === 0 ? ('all' as const) : [...draft.models],
    rpm_limit: limitOf(draft.rpm_limit),
    tpm_limit: limitOf(draft.tpm_limit),
    parallel_limit: limitOf(draft.parallel_limit),
    output_limit: limitOf(draft.output_limit),
    addresses: draft.addresses.length === 0 ? ('any' as const) : [...draft.addresses],
    expires_at: draft.expires_at === '' ? 'never' : draft.expires_at,
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
  const { provider_scope, addresses, ...rest } = settingsOf(draft);
  return {
    ...rest,
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
  rpm_limit: 'Requests per minute',
  tpm_limit: 'Tokens per minute',
  parallel_limit: 'Parallel requests',
  output_limit: 'Maximum output',
  expires_at: 'Expires',
  models: 'Models',
  addresses: 'Client addresses',
  provider_scope: 'Provider',
};
