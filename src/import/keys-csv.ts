/** Keys as lines of a CSV file: made from one, and written to one. */

import { csvLine } from '../admin/csv.ts';
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
/** What an export has besides; a new key gets its own. */
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

/** Each line as the API takes a key; an empty cell is a setting that is not given. */
export function keysIn(file: CsvFile): readonly { readonly line: number; readonly key: object }[] {
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
  return file.rows.map((row) => ({ line: row.line, key: keyIn(row) }));
}

function keyIn(row: CsvRow): object {
  const taken = row.cell(TAKEN);
  return Object.fromEntries([
    ...(taken === '' ? [] : [[TAKEN, taken]]),
    ...SETTINGS.flatMap((name) => {
      // An export made a text of what a spreadsheet would have run.
      const text = row.cell(name).replace(/^'(?=[=+\-@])/, '');
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
