/** The operator's commands that bring keys in, and keys, accounts and usage out. */
import { basename } from 'node:path';
import type { AccountView } from '../admin/accounts/schema.ts';
import { csvLine } from '../admin/csv.ts';
import { AdminError } from '../admin/error.ts';
import type { ImportedKeysView } from '../admin/keys/schema.ts';
import { parseCsv, wrongCsv } from '../import/csv-file.ts';
import { keysCsv, keysIn } from '../import/keys-csv.ts';
import type { Command } from './command.ts';
import { contentOf } from './money-commands.ts';
import { json, lines } from './output.ts';
import { usageCsv } from './usage-text.ts';

export const IMPORT_COMMANDS: readonly Command[] = [
  {
    words: ['import'],
    examples: ['import keys.csv --dry-run', 'import keys.csv'],
    operands: ['KEYS.csv'],
    flags: {},
    switches: ['dry-run', 'json'],
    summary: 'create a key for every line, all or none; the new keys are printed once, as CSV',
    createsData: true,
    run: async (api, { operands: [path = ''], switches }) => {
      const name = basename(path);
      const given = keysIn(await parseCsv(name, contentOf(path)));
      const dryRun = switches.has('dry-run');
      try {
        const made = await api.call('importKeys', { body: { keys: given.map(({ key }) => key), dry_run: dryRun } });
        if (switches.has('json')) return json(made);
        if (dryRun) return lines([`${made.keys} keys could be created; nothing was changed`]);
        return {
          ...lines(createdCsv(made.data)),
          warning: `${made.keys} keys created; this is the only time that they are shown`,
        };
      } catch (error) {
        throw error instanceof AdminError ? byLine(name, given, error) : error;
      }
    },
  },
  {
    words: ['export', 'keys'],
    examples: ['export keys'],
    operands: [],
    flags: {},
    switches: ['json'],
    summary: 'print all keys as CSV that "gateway import" reads, without their secrets',
    run: async (api, { switches }) => {
      const keys = await api.all('listKeys');
      return switches.has('json') ? json(keys) : lines(keysCsv(keys));
    },
  },
  {
    words: ['export', 'accounts'],
    examples: ['export accounts'],
    operands: [],
    flags: {},
    switches: ['json'],
    summary: 'print all accounts as CSV',
    run: async (api, { switches }) => {
      const accounts = await api.all('listAccounts');
      return switches.has('json') ? json(accounts) : lines(accountsCsv(accounts));
    },
  },
  {
    words: ['export', 'usage'],
    examples: ['export usage --by key,day --since 30d'],
    operands: [],
    flags: { by: 'DIMENSION,…', since: 'TIME|30d', until: 'TIME' },
    switches: ['json'],
    summary: 'print usage as CSV, by day, key and model unless --by says otherwise',
    run: async (api, { flags, switches }) => {
      const report = await api.call('usage', { query: { by: 'day,key,model', ...flags } });
      if (switches.has('json')) return json(report);
      const { lines: rows, warning } = usageCsv(report);
      return { ...lines(rows), warning };
    },
  },
];

/** The API names a key by its number; whoever has the file looks for a line. */
function byLine(name: string, given: readonly { readonly line: number }[], error: AdminError): AdminError {
  const [, number = '', message = ''] = /^keys\[(\d+)\] (.*)$/s.exec(error.message) ?? [];
  const line = given[Number(number)]?.line;
  if (number === '' || line === undefined) {
    if (error.code === 'too_large')
      return new AdminError('invalid_input', `${name} is too large: split it into several files`);
    return error;
  }
  return wrongCsv(name, line, `${message}; nothing was changed`, error);
}

function createdCsv(keys: ImportedKeysView['data']): readonly string[] {
  return ['id,label,key', ...keys.map(({ id, label, key }) => csvLine([id, label, key]))];
}

const ACCOUNT_COLUMNS = [
  ...['id', 'name', 'parent', 'root', 'external_id', 'status', 'credit', 'balance', 'used', 'reserved'],
  ...['credit_used', 'tokens_used', 'rpm_limit', 'created_at'],
] as const satisfies readonly (keyof AccountView)[];

function accountsCsv(accounts: readonly AccountView[]): readonly string[] {
  const cap = (value: AccountView['credit_cap']): string | null => value && `${value.amount}/${value.period}`;
  return [
    [...ACCOUNT_COLUMNS, 'credit_cap', 'token_cap', 'labels'].join(','),
    ...accounts.map((account) =>
      csvLine([
        ...ACCOUNT_COLUMNS.map((name) => account[name]),
        cap(account.credit_cap),
        cap(account.token_cap),
        Object.entries(account.labels)
          .map(([name, value]) => `${name}=${value}`)
          .join(' '),
      ]),
    ),
  ];
}
