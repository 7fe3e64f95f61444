/** Keys as lines of a CSV file: made from one, and written to one. */

import { csvLine, withoutApostrophe } from '../admin/csv.ts';
import type { KeyView } from '../admin/keys/schema.ts';
import { type CsvFile, type CsvRow, wrongCsv } from './csv-file.ts';

/** What a new key can be given, by the names of the API. */
const SETTINGS = [
  'mode',
  'label',
  'account',
  'credit',
  'budget',
  'period',
  'cap',
  'rpm_limit',
  'tpm_limit',
  'parallel_limit',
  'runs_limit',
  'output_limit',
  'provider_scope',
  'models',
  'addresses',
  'expires_at',
] as const;
/** What an export has besides; a new key gets its own, and is never made of one that may not be used. */
const SHOWN = [
  'id',
  'status',
  'prefix',
  'balance',
  'used',
  'requests',
  'input_tokens',
  'output_tokens',
  'created_at',
] as const;
/** Given once, shown never: the text of a key that clients have already. */
const TAKEN = 'key';
const LISTS: readonly string[] = ['models', 'addresses'];

interface ReadKeys {
  readonly keys: readonly { readonly line: number; readonly key: object }[];
  /** The lines of keys that had been revoked, which are not among them. */
  readonly revoked: readonly number[];
}

/** Each line as the API takes a key; an empty cell is a setting that is not given. */
export function keysIn(file: CsvFile): ReadKeys {
  const known: readonly string[] = [...SETTINGS, TAKEN, ...SHOWN];
  const unknown = file.columns.find((column) => !known.includes(column));
  if (unknown !== undefined) {
    throw wrongCsv(
      file.name,
      1,
      `unknown column ${JSON.stringify(unknown)}: expected ${[...SETTINGS, TAKEN].join(', ')}`,
    );
  }
  if (!file.columns.includes('mode'))
    throw wrongCsv(file.name, 1, 'no column mode: credit or token_budget for each key');
  if (file.rows.length === 0) throw wrongCsv(file.name, 1, 'no keys follow the header');
  const rows = Map.groupBy(file.rows, (row) => (isRevoked(file, row) ? 'revoked' : 'taken'));
  const { revoked = [], taken = [] } = Object.fromEntries(rows);
  if (taken.length === 0) throw wrongCsv(file.name, 1, 'every key that follows the header had been revoked');
  return {
    keys: taken.map((row) => ({ line: row.line, key: keyIn(row) })),
    revoked: revoked.map(({ line }) => line),
  };
}

/** An expired key expires again by its time; one that was suspended or disabled would come back as one that works. */
function isRevoked({ name }: CsvFile, row: CsvRow): boolean {
  const status = row.cell('status');
  if (['', 'active', 'expired', 'revoked'].includes(status)) return status === 'revoked';
  if (status === 'suspended' || status === 'disabled') {
    throw wrongCsv(
      name,
      row.line,
      `status is ${status}, and a new key is active: remove the line, or empty its status where the key may work again; nothing was changed`,
    );
  }
  throw wrongCsv(
    name,
    row.line,
    `status is ${JSON.stringify(status)}: expected active, suspended, disabled, expired, revoked or nothing`,
  );
}

function keyIn(row: CsvRow): object {
  const taken = row.cell(TAKEN);
  return Object.fromEntries([
    ...(taken === '' ? [] : [[TAKEN, taken]]),
    ...SETTINGS.flatMap((name) => {
      const text = withoutApostrophe(row.cell(name));
      if (text === '') return [];
      return [[name, LISTS.includes(name) && text !== 'all' && text !== 'any' ? text.split(/[\s,;|]+/) : text]];
    }),
  ]);
}

/** What a key would be made with, and what became of it. The balance of a key that pays for itself is its credit. */
export function keysCsv(keys: readonly KeyView[]): readonly string[] {
  return [
    [...SHOWN, ...SETTINGS].join(','),
    ...keys.map((key) =>
      csvLine([...SHOWN.map((name) => shown(key, name)), ...SETTINGS.map((name) => setting(key, name))]),
    ),
  ];
}

function shown(key: KeyView, name: (typeof SHOWN)[number]): string | number | null {
  if (name === 'balance') return key.mode === 'credit' ? decimal(key.balance) : null;
  const value = key[name];
  return name === 'used' && typeof value === 'number' ? decimal(value) : value;
}

function setting(key: KeyView, name: (typeof SETTINGS)[number]): string | number | null {
  switch (name) {
    case 'account':
      return key.account ?? null;
    case 'credit':
      return key.mode === 'credit' && key.account === undefined ? decimal(key.balance) : null;
    case 'budget':
      return key.mode === 'token_budget' ? (key.budget ?? 'unlimited') : null;
    case 'period':
      return key.mode === 'token_budget' ? key.period : (key.cap?.period ?? null);
    case 'cap':
      return key.mode === 'credit' && key.cap !== undefined ? decimal(key.cap.amount) : null;
    case 'models':
    case 'addresses':
      return key[name]?.join(' ') ?? null;
    default:
      return key[name];
  }
}

/** All of its decimals, never an exponent. */
function decimal(credits: number): string {
  return credits.toFixed(9).replace(/\.?0+$/, '');
}
