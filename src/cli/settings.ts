/**
 * What can be set of keys and accounts, on the command line: the flag of each, its field in the API, and how a key shows it.
 * A new setting is a row here, and a line where it is shown.
 */
import type { KeyView } from '../admin/keys/schema.ts';
import { RUNS_LIMIT } from '../core/key.ts';

export interface Setting {
  readonly flag: string;
  /** What the help shows in the place of a value. */
  readonly value: string;
  readonly field: string;
  /** What is sent for a text; the text itself where it is absent. */
  read?(text: string): unknown;
}

const LIMITS: readonly Setting[] = [
  { flag: 'rpm', value: 'N|none', field: 'rpm_limit' },
  { flag: 'tpm', value: 'TOKENS|none', field: 'tpm_limit' },
  { flag: 'parallel', value: 'N|none', field: 'parallel_limit' },
  { flag: 'runs', value: 'N|none', field: 'runs_limit' },
  { flag: 'max-output', value: 'TOKENS|none', field: 'output_limit' },
  { flag: 'models', value: 'ID,PATTERN|all', field: 'models', read: listUnless('all') },
  { flag: 'addresses', value: 'CIDR,CIDR|any', field: 'addresses', read: listUnless('any') },
];

export const KEY_SETTINGS: readonly Setting[] = [
  { flag: 'label', value: 'TEXT', field: 'label' },
  { flag: 'expires', value: 'ISO|never', field: 'expires_at' },
  { flag: 'provider', value: 'NAME|all', field: 'provider_scope' },
  ...LIMITS,
  { flag: 'budget', value: 'TOKENS|unlimited', field: 'budget' },
  { flag: 'period', value: 'day|week|month|none', field: 'period' },
  { flag: 'cap', value: 'CREDITS|none', field: 'cap' },
  { flag: 'capture-days', value: 'N|off', field: 'capture_days' },
];

export const ACCOUNT_SETTINGS: readonly Setting[] = [
  { flag: 'external-id', value: 'TEXT', field: 'external_id' },
  ...LIMITS,
  { flag: 'credit-cap', value: 'CREDITS/PERIOD|none', field: 'credit_cap' },
  { flag: 'token-cap', value: 'TOKENS/PERIOD|none', field: 'token_cap' },
];

export function flagsOf(settings: readonly Setting[]): Readonly<Record<string, string>> {
  return Object.fromEntries(settings.map(({ flag, value }) => [flag, value]));
}

/** As the API takes those that are given. */
export function settingsIn(settings: readonly Setting[], flags: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    settings.flatMap(({ flag, field, read = String }) => {
      const text = flags[flag];
      return text === undefined ? [] : [[field, read(text)]];
    }),
  );
}

/** What `keys show` says of them. */
export function settingRows(key: KeyView): readonly (readonly [name: string, value: string])[] {
  return [
    ['provider', key.provider_scope],
    ['models', key.models === null ? 'all of the provider scope' : key.models.join(', ')],
    ['limits', limitsText(key)],
    ['addresses', key.addresses === null ? 'any' : key.addresses.join(', ')],
    ['expires', key.expires_at ?? 'never'],
    ['content', key.capture_days === null ? 'not kept' : `kept for ${key.capture_days} days`],
  ];
}

type LimitView = Pick<KeyView, 'rpm_limit' | 'tpm_limit' | 'parallel_limit' | 'runs_limit' | 'output_limit'>;

/** Every key has a limit on runs: the usual one is not worth a word. */
export function limitsText({ rpm_limit, tpm_limit, parallel_limit, runs_limit, output_limit }: LimitView): string {
  const limits = [
    rpm_limit === null ? '' : `${rpm_limit} requests per minute`,
    tpm_limit === null ? '' : `${tpm_limit} tokens per minute`,
    parallel_limit === null ? '' : `${parallel_limit} at a time`,
    runs_limit === null || runs_limit === RUNS_LIMIT ? '' : `${runs_limit} in the background`,
    output_limit === null ? '' : `${output_limit} tokens of output`,
  ].filter((text) => text !== '');
  return limits.length === 0 ? 'none' : limits.join(', ');
}

function listUnless(everything: string): (text: string) => readonly string[] | null {
  return (text) => (text === everything ? null : text.split(','));
}

/** A number, or null where the word says that there is none. */
export function numberOr(word: string): (text: string) => unknown {
  return (text) => (text === word ? null : Number(text));
}
