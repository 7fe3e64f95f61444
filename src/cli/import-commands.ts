/** The operator's commands that bring keys in, and keys, accounts and usage out. */
import { basename } from 'node:path';
import type { AccountView } from '../admin/accounts/schema.ts';
import { csvLine } from '../admin/csv.ts';
import { AdminError } from '../admin/error.ts';
import type { ImportedKeysView } from '../admin/keys/schema.ts';
import { parseCsv, wrongCsv } from '../import/csv-file.ts';
import { keysCsv, keysIn } from '../import/keys-csv.ts';
import { type Command, command } from './command.ts';
import { contentOf } from './money-commands.ts';
import { usageCsv } from './usage-text.ts';

export const IMPORT_COMMANDS: readonly Command[] = [
  command({
    words: ['import'],
    examples: ['import keys.csv --dry-run', 'import keys.csv'],
    operands: ['KEYS.csv'],
    switches: ['dry-run', 'json'],
    summary: 'create a key for every line, all or none; the new keys are printed once, as CSV',
    createsData: true,
    ask: async (api, { operands: [path = ''], switches }) => {
      const name = basename(path);
      const { keys, revoked } = keysIn(await parseCsv(name, contentOf(path)));
      const body = { keys: keys.map(({ key }) => key), dry_run: switches.has('dry-run') };
      const answer = await api.call('importKeys', { body }).catch((error: unknown) => {
        throw error instanceof AdminError ? byLine(name, keys, error) : error;
      });
      return { ...answer, revoked_lines: revoked };
    },
    print: ({ keys, data, revoked_lines: revoked }, { switches }) => {
      const left = revoked.length === 0 ? '' : `; not those that had been revoked (line ${revoked.join(', ')})`;
      if (switches.has('dry-run')) return [`${keys} keys could be created${left}; nothing was changed`];
      const warning = `${keys} keys created${left}; this is the only time that they are shown`;
      return { lines: createdCsv(data), warning };
    },
  }),
  command({
    words: ['export', 'keys'],
    examples: ['export keys'],
    summary: 'print all keys as CSV that "gateway import" reads, without their secrets',
    ask: (api) => api.all('listKeys'),
    print: keysCsv,
  }),
  command({
    words: ['export', 'accounts'],
    examples: ['export accounts'],
    summary: 'print all accounts as CSV',
    ask: (api) => api.all('listAccounts'),
    print: accountsCsv,
  }),
  command({
    words: ['export', 'usage'],
    examples: ['export usage --by key,day --since 30d'],
    flags: { by: 'DIMENSION,…', since: 'TIME|30d', until: 'TIME' },
    summary: 'print usage as CSV, by day, key and model unless --by says otherwise',
    ask: (api, { flags }) => api.call('usage', { query: { by: 'day,key,model', ...flags } }),
    print: usageCsv,
  }),
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
