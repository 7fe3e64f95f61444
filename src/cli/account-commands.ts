/** The operator's commands for accounts. */
import type { AccountView } from '../admin/accounts/schema.ts';
import { table } from '../lib/text-table.ts';
import { versionGiven } from './arguments.ts';
import { type Command, command } from './command.ts';
import { historyCommand } from './request-commands.ts';
import { ACCOUNT_SETTINGS, flagsOf, limitsText, settingsIn } from './settings.ts';
import { amount, promotionalRow } from './text.ts';

const ACCOUNT_FLAGS = flagsOf(ACCOUNT_SETTINGS);

export const ACCOUNT_COMMANDS: readonly Command[] = [
  command({
    words: ['accounts', 'create'],
    examples: ['accounts create Acme', 'accounts create Research --parent acct_1 --credit-cap 20/month'],
    operands: ['NAME'],
    flags: { parent: 'ID', ...ACCOUNT_FLAGS },
    summary: 'create an account: a root that buys credit, or one below --parent; PERIOD is day, week, month or none',
    createsData: true,
    ask: (api, { operands: [name], flags }) =>
      api.call('createAccount', { body: { name, parent: flags.parent, ...settingsIn(ACCOUNT_SETTINGS, flags) } }),
    print: accountLine,
  }),
  command({
    words: ['accounts', 'list'],
    examples: ['accounts list'],
    flags: { parent: 'ID|none', below: 'yes|no', status: 'active|suspended|closed', search: 'TEXT' },
    summary:
      'list all accounts as trees, or those that match; --parent none: roots; --search: a part of the name, the id or the external id',
    ask: (api, { flags }) => api.all('listAccounts', flags),
    print: (accounts, { flags }) => {
      const isFound = accounts.length > 0 || Object.keys(flags).length === 0;
      return isFound ? accountsTable(accounts) : ['No account matches.'];
    },
  }),
  command({
    words: ['accounts', 'show'],
    examples: ['accounts show acct_1'],
    operands: ['ID'],
    summary: 'show one account with its caps and sums',
    ask: (api, { operands: [id = ''] }) => api.call('showAccount', { id }),
    print: accountText,
  }),
  historyCommand(
    'accounts',
    'accountHistory',
    'acct_1',
    'list what was done to an account, and what was refunded to it, newest first',
  ),
  command({
    words: ['accounts', 'update'],
    examples: ['accounts update acct_1 --credit-cap 50/month --rpm 600'],
    operands: ['ID'],
    flags: { name: 'TEXT', ...ACCOUNT_FLAGS, 'if-version': 'N' },
    summary: 'change the given settings; with --if-version, only if the account still has that version',
    ask: (api, { operands: [id = ''], flags }) => {
      const body = { name: flags.name, ...settingsIn(ACCOUNT_SETTINGS, flags) };
      return api.call('changeAccount', { id, body, version: versionGiven(flags) });
    },
    print: accountLine,
  }),
  statusCommand('suspend', 'suspended', 'refuse every key below the account (403) until it is resumed'),
  statusCommand('resume', 'active', 'serve the keys below a suspended account again'),
  statusCommand('close', 'closed', 'close an account permanently; it must have no open accounts or keys below it'),
  command({
    words: ['accounts', 'erase'],
    examples: ['accounts erase acct_1 --name Acme'],
    operands: ['ID'],
    flags: { name: 'NAME' },
    summary:
      'erase the data of a customer who leaves, for ever: closes the account and those below it, revokes their keys and account-admins, and removes names, webhooks and logged requests; --name repeats the name of the account. The entries of the ledger stay',
    ask: (api, { operands: [id = ''], flags: { name } }) => api.call('eraseAccount', { id, body: { name } }),
    print: ({ id, accounts, keys, requests, names_kept }) => [
      `${id} is erased: ${accounts} accounts closed, ${keys} keys revoked, ${requests} requests removed from the log`,
      ...(names_kept === 0
        ? []
        : [
            `${names_kept} keys or accounts were revoked or closed before, and keep their names: what is final is not changed`,
          ]),
    ],
  }),
  command({
    words: ['accounts', 'move'],
    examples: ['accounts move acct_2 acct_1'],
    operands: ['ID', 'PARENT'],
    summary: 'move an account below another one of the same root, while nothing below it is in flight',
    ask: (api, { operands: [id = '', parent] }) => api.call('moveAccount', { id, body: { parent } }),
    print: accountLine,
  }),
  command({
    words: ['accounts', 'credit'],
    examples: ['accounts credit acct_1 100 --note "invoice 4711"'],
    operands: ['ID', 'AMOUNT'],
    flags: { note: 'TEXT', id: 'ENTRY_ID', expires: 'ISO' },
    summary:
      'add credits to a root, for all keys below it; with --expires they are promotional: they are spent first, and expire then',
    ask: (api, { operands: [id = '', amountGiven], flags }) => {
      const body = { amount: amountGiven, note: flags.note, entry_id: flags.id, expires_at: flags.expires };
      return api.call('addAccountCredit', { id, body });
    },
    print: accountLine,
  }),
  command({
    words: ['accounts', 'add-key'],
    examples: ['accounts add-key acct_1 key_1'],
    operands: ['ID', 'KEY'],
    summary: 'move a key to the account; its own balance, if any, goes to the root',
    ask: (api, { operands: [id = '', key] }) => api.call('addAccountKey', { id, body: { key } }),
    print: accountLine,
  }),
];

function statusCommand(word: string, status: string, summary: string): Command {
  return command({
    words: ['accounts', word],
    examples: [`accounts ${word} acct_1`],
    operands: ['ID'],
    summary,
    ask: (api, { operands: [id = ''] }) => api.call('changeAccount', { id, body: { status } }),
    print: accountLine,
  });
}

/** One line after a change: what the account is now. */
function accountLine(account: AccountView): readonly string[] {
  return [`${account.id} (${account.name}) is ${account.status}; ${available(account)}`];
}

function available({ balance, reserved, used, credit_cap, credit_used }: AccountView): string {
  const spent = `${amount(used)} used, ${amount(reserved)} held`;
  const cap = credit_cap && `${amount(credit_cap.amount - credit_used)} credits left of its cap`;
  if (balance !== null)
    return `${amount(balance - reserved)} credits left (${[spent, cap].filter(Boolean).join('; ')})`;
  return `${cap ?? 'no credit cap'} (${spent})`;
}

function accountText(account: AccountView): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['id', account.id],
    ['name', account.name],
    ['external id', account.external_id ?? '-'],
    ['status', account.status],
    ['parent', account.parent ?? '- (a root)'],
    ['available', available(account)],
    ...promotionalRow(account),
    ['credit cap', capText(account.credit_cap, 'credits', account.credit_used)],
    ['token cap', capText(account.token_cap, 'tokens', account.tokens_used)],
    ['in flight', `${account.live_holds} requests`],
    ['limits', limitsText(account)],
    ['models', account.models === null ? 'all' : account.models.join(', ')],
    ['addresses', account.addresses === null ? 'any' : account.addresses.join(', ')],
    ['created', account.created_at],
    ['version', String(account.version)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(13)}${value}`);
}

function capText(cap: AccountView['credit_cap'], unit: string, used: number): string {
  if (cap === null) return `none (${amount(used)} ${unit} used)`;
  const period = cap.period === 'none' ? 'in all' : `per ${cap.period}`;
  return `${amount(cap.amount)} ${unit} ${period} (${amount(used)} used)`;
}

function accountsTable(accounts: readonly AccountView[]): readonly string[] {
  if (accounts.length === 0) return ['No accounts yet. Create one with: gateway accounts create NAME'];
  const listed = new Set(accounts.map(({ id }) => id));
  // One whose parent is not among them stands at the top.
  const byParent = Map.groupBy(accounts, ({ parent }) => (parent !== null && listed.has(parent) ? parent : null));
  const below = (parent: string | null, depth: number): readonly (readonly string[])[] =>
    (byParent.get(parent) ?? []).flatMap((account) => [
      [`${'  '.repeat(depth)}${account.name}`, account.id, account.status, available(account)],
      ...below(account.id, depth + 1),
    ]);
  return table([['NAME', 'ID', 'STATUS', 'AVAILABLE'], ...below(null, 0)]);
}
