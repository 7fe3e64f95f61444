/** The operator's commands. They use the admin API, whether a gateway is running or not. */

import type { AdminClient } from '../admin/client.ts';
import type { CreatedKey } from '../admin/keys/schema.ts';
import { USAGE_DIMENSIONS } from '../core/usage-report.ts';
import { ACCOUNT_COMMANDS } from './account-commands.ts';
import { ALERT_COMMANDS } from './alert-commands.ts';
import { type CommandShape, UsageError, usageLine, versionGiven } from './arguments.ts';
import type { Command } from './command.ts';
import { COMPLETION } from './completion.ts';
import { DATA_COMMANDS } from './data-commands.ts';
import { IMPORT_COMMANDS } from './import-commands.ts';
import { IMPORTERS } from './importer-shapes.ts';
import { MONEY_COMMANDS } from './money-commands.ts';
import { OPERATOR_COMMANDS } from './operator-commands.ts';
import { json, lines, type Output, withoutAbsent } from './output.ts';
import { REQUEST_CONTENT } from './request-commands.ts';
import { ACCOUNT_SETTINGS, flagsOf, KEY_SETTINGS, settingsIn } from './settings.ts';
import { auditText, createdText, keyLine, keysTable, keyText, lastAuditText } from './text.ts';
import { usageCsv, usageTable } from './usage-text.ts';

const KEY_FLAGS = flagsOf(KEY_SETTINGS);

/** The flag for each field of the API, for error messages. */
export const FLAG_OF_FIELD: Readonly<Record<string, string>> = {
  ...Object.fromEntries([...KEY_SETTINGS, ...ACCOUNT_SETTINGS].map(({ field, flag }) => [field, `--${flag}`])),
  mode: '--mode',
  credit: '--credit',
  note: '--note',
  reason: '--reason',
  month: '--month',
  from: '--from',
  to: '--to',
  entry_id: '--id',
  client_request_id: '--client-request-id',
  slower_than: '--slower',
  costlier_than: '--costlier',
  status: '--status',
  condition: '--condition',
  limit: '--limit',
  before: '--before',
  below: '--below',
  amount: 'AMOUNT',
  name: 'NAME',
  role: '--role',
  account_id: '--account',
  cursor: '--cursor',
  outcome: '--outcome',
  by: '--by',
  since: '--since',
  until: '--until',
  key: '--key',
  model: '--model',
  provider: '--provider',
  format: '--format',
  top: '--top',
  order: '--order',
  account: '--account',
  parent: '--parent',
  type: '--type',
  state: '--state',
  url: '--url',
};

export const COMMANDS: readonly Command[] = [
  {
    words: ['keys', 'create'],
    examples: [
      'keys create --mode credit --credit 25 --label ci',
      'keys create --mode token_budget --budget 1000000 --period month',
      'keys create --mode credit --account acct_1 --cap 5 --period week',
    ],
    operands: [],
    flags: { mode: 'credit|token_budget', credit: 'CREDITS', account: 'ID', ...KEY_FLAGS },
    switches: ['json'],
    summary:
      'create a key, shown once: --mode credit takes --credit, or --account and --cap; --mode token_budget takes --budget and --period',
    createsData: true,
    run: async (api, { flags, switches }) => {
      const input = {
        mode: flags.mode,
        credit: flags.credit,
        account: flags.account,
        ...settingsIn(KEY_SETTINGS, flags),
      };
      return created(await api.call('createKey', { body: withoutAbsent(input) }), switches);
    },
  },
  {
    words: ['keys', 'list'],
    examples: ['keys list', 'keys list --account acct_1 --status active', 'keys list --search laptop'],
    operands: [],
    flags: {
      account: 'ID|none',
      below: 'yes|no',
      status: 'active|suspended|disabled|expired|revoked',
      mode: 'credit|token_budget',
      label: 'TEXT',
      search: 'TEXT',
    },
    switches: ['json'],
    summary: 'list all keys, or those that match, newest first; --search: a part of the label, the id or the prefix',
    run: async (api, { flags, switches }) => {
      const keys = await api.all('listKeys', flags);
      if (switches.has('json')) return json(keys);
      const isFound = keys.length > 0 || Object.keys(flags).length === 0;
      return lines(isFound ? keysTable(keys) : ['No key matches.']);
    },
  },
  {
    words: ['keys', 'show'],
    examples: ['keys show key_1'],
    operands: ['ID'],
    flags: {},
    switches: ['json'],
    summary: 'show one key with its balance',
    run: async (api, { operands: [id = ''], switches }) => {
      const key = await api.call('showKey', { id });
      return switches.has('json') ? json(key) : lines(keyText(key));
    },
  },
  {
    words: ['keys', 'update'],
    examples: ['keys update key_1 --rpm 600 --expires 2030-01-31', 'keys update key_1 --label ci --if-version 3'],
    operands: ['ID'],
    flags: { ...KEY_FLAGS, 'if-version': 'N' },
    switches: ['json'],
    summary: 'change the given settings; with --if-version, only if the key still has that version',
    run: (api, { operands: [id = ''], flags, switches }) =>
      change(api, id, settingsIn(KEY_SETTINGS, flags), switches, versionGiven(flags)),
  },
  statusCommand('suspend', 'suspended', 'reject the key as invalid (401) until it is resumed'),
  statusCommand('resume', 'active', 'make a suspended key active again'),
  statusCommand('disable', 'disabled', 'reject the key as disabled (403) until it is enabled'),
  statusCommand('enable', 'active', 'make a disabled key active again'),
  statusCommand('revoke', 'revoked', 'revoke the key permanently'),
  {
    words: ['keys', 'rotate'],
    examples: ['keys rotate key_1'],
    operands: ['ID'],
    flags: {},
    switches: ['json'],
    summary: 'add a secret to the key; the older ones keep working',
    run: async (api, { operands: [id = ''], switches }) => created(await api.call('addSecret', { id }), switches),
  },
  {
    words: ['keys', 'revoke-secret'],
    examples: ['keys revoke-secret key_1 mg_c_0123456'],
    operands: ['ID', 'PREFIX'],
    flags: {},
    switches: ['json'],
    summary: 'revoke one secret of a key that has several',
    run: async (api, { operands: [id = '', prefix = ''], switches }) => {
      const key = await api.call('revokeSecret', { id, prefix });
      return switches.has('json') ? json(key) : lines([keyLine(key)]);
    },
  },
  {
    words: ['credit', 'add'],
    examples: ['credit add key_1 10 --note "invoice 4711"'],
    operands: ['ID', 'AMOUNT'],
    flags: { note: 'TEXT', id: 'ENTRY_ID', expires: 'ISO' },
    switches: ['json'],
    summary: 'add credits to a credit key; with --expires they are promotional: they are spent first, and expire then',
    run: async (api, { operands: [id = '', amount = ''], flags, switches }) => {
      const input = { amount, note: flags.note, entry_id: flags.id, expires_at: flags.expires };
      const key = await api.call('addCredit', { id, body: withoutAbsent(input) });
      return switches.has('json') ? json(key) : lines([keyLine(key)]);
    },
  },
  ...ACCOUNT_COMMANDS,
  ...ALERT_COMMANDS,
  ...MONEY_COMMANDS,
  {
    words: ['audit'],
    examples: ['audit'],
    operands: [],
    flags: {},
    switches: ['last', 'json'],
    summary:
      'recompute every balance from its entries; exit 0 only when all match; --last: the result of the last audit',
    run: async (api, { switches }) => {
      if (switches.has('last')) {
        const view = await api.call('lastAudit', {});
        const output = switches.has('json') ? json(view) : lines(lastAuditText(view));
        return { ...output, exitCode: view.last?.ok === true ? 0 : 1 };
      }
      const report = await api.call('audit', {});
      const output = switches.has('json') ? json(report) : lines(auditText(report));
      return { ...output, exitCode: report.ok ? 0 : 1 };
    },
  },
  {
    words: ['usage'],
    examples: ['usage --by model,day --since 30d', 'usage --by key --account acct_1 --csv'],
    operands: [],
    flags: {
      by: 'DIMENSION,…',
      since: 'TIME|30d',
      until: 'TIME',
      key: 'ID',
      account: 'ID',
      label: 'TEXT',
      model: 'ID',
      provider: 'NAME',
      format: 'NAME',
      top: 'N',
      order: 'cost|requests|tokens',
    },
    switches: ['csv', 'json'],
    summary: `show requests, tokens, cost and margin of the last 30 days; --by takes ${USAGE_DIMENSIONS.join(', ')}`,
    run: async (api, { flags, switches }) => {
      if (switches.has('csv') && switches.has('json')) throw new UsageError('give --csv or --json, not both');
      const report = await api.call('usage', { query: flags });
      if (switches.has('json')) return json(report);
      if (!switches.has('csv')) return lines(usageTable(report));
      const { lines: rows, warning } = usageCsv(report);
      return { ...lines(rows), warning };
    },
  },
  REQUEST_CONTENT,
  ...IMPORT_COMMANDS,
  ...OPERATOR_COMMANDS,
];

/** Not in COMMANDS: it starts the gateway instead of using the admin API. */
export const START: CommandShape = {
  words: ['start'],
  examples: ['start', 'start --workers 4'],
  operands: [],
  flags: { workers: 'N' },
  switches: [],
  summary: 'serve until SIGTERM or SIGINT; --workers N shares the port among N processes, on PostgreSQL (default 1)',
};

/** Not in COMMANDS: it checks more than the store, and also works when the store cannot be reached. */
export const DOCTOR: CommandShape = {
  words: ['doctor'],
  examples: ['doctor', 'doctor --no-probe --json'],
  operands: [],
  flags: {},
  switches: ['no-probe', 'json'],
  summary: 'check config, providers, models and store; --no-probe skips the one-token generations, which cost money',
};

/** Not among the others: it looks at the configuration, and goes on where the store cannot be reached. */
export const MODELS: CommandShape = {
  words: ['models'],
  examples: ['models', 'models --json'],
  operands: [],
  flags: {},
  switches: ['json'],
  summary: 'list every model with its price and limits, and the source and date of each',
};

/** Not among the others: it looks at a file, and at no store. */
export const CHECK_CONFIG: CommandShape = {
  words: ['config', 'check'],
  examples: ['config check gateway.yaml', 'config check gateway.yaml --json'],
  operands: ['FILE'],
  flags: {},
  switches: ['json'],
  summary:
    'check whether a gateway could start with this config file; prints every problem with its path, or the models it would serve',
};

/** Not among the others: they read the request log, which is not part of the store. */
export const SHOW_REQUEST: CommandShape = {
  words: ['requests', 'show'],
  examples: ['requests show req_01a1e174667d0053556642d39a21a3d8'],
  operands: ['ID'],
  flags: {},
  switches: ['json'],
  summary: 'show what happened to a request, and what to do next; ID is the x-request-id of the response',
};

export const LIST_REQUESTS: CommandShape = {
  words: ['requests', 'list'],
  examples: ['requests list --status 5xx --since 1h', 'requests list --key key_1 --slower 2s --follow'],
  operands: [],
  flags: {
    key: 'ID',
    model: 'ID',
    provider: 'NAME',
    format: 'NAME',
    'client-request-id': 'ID',
    status: 'N|5xx',
    condition: 'NAME',
    since: 'TIME|24h',
    until: 'TIME|1h',
    slower: '500ms|2s',
    costlier: 'CREDITS',
    account: 'ID|none',
    below: 'yes|no',
    limit: 'N',
    before: 'ID',
  },
  switches: ['follow', 'json'],
  summary: 'list requests from the log, newest first; --follow prints requests as they end',
};

/** Not among the others: it goes on until it is stopped. */
export const TOP: CommandShape = {
  words: ['top'],
  examples: ['top'],
  operands: [],
  flags: {},
  switches: ['json'],
  summary: 'show the requests in flight, their holds and tokens per second, by model and key',
};

/** Every command, in the order of the help. */
export const ALL_COMMANDS: readonly CommandShape[] = [
  ...[START, DOCTOR, MODELS, CHECK_CONFIG, COMPLETION, ...DATA_COMMANDS, SHOW_REQUEST, LIST_REQUESTS, TOP],
  ...IMPORTERS,
  ...COMMANDS,
];

export function helpText(): string {
  const rows = [
    ...ALL_COMMANDS.map((command) => [usageLine(command), command.summary]),
    ['gateway help', 'show this text; --help after a command shows that command with examples'],
    ['gateway --version', 'show version, commit and schema'],
  ];
  return [
    'Commands:',
    ...rows.flatMap(([usage = '', summary = '']) => [`  ${usage}`, `      ${summary}`]),
    '',
    'Settings come from the environment: GATEWAY_DATA (./data), GATEWAY_HOST, GATEWAY_PORT, GATEWAY_ADMIN_HOST, GATEWAY_ADMIN_PORT, GATEWAY_CONFIG.',
    'Commands work on GATEWAY_DATA whether a gateway is running there or not. See docs/run/operations.md.',
    '',
  ].join('\n');
}

function statusCommand(word: string, status: string, summary: string): Command {
  return {
    words: ['keys', word],
    examples: [`keys ${word} key_1`],
    operands: ['ID'],
    flags: {},
    switches: ['json'],
    summary,
    run: (api, { operands: [id = ''], switches }) => change(api, id, { status }, switches),
  };
}

async function change(
  api: AdminClient,
  id: string,
  input: object,
  switches: ReadonlySet<string>,
  version?: number,
): Promise<Output> {
  const key = await api.call('changeKey', { id, body: withoutAbsent(input), version });
  return switches.has('json') ? json(key) : lines([keyLine(key)]);
}

function created(key: CreatedKey, switches: ReadonlySet<string>): Output {
  if (!switches.has('json')) return lines(createdText(key));
  const { id, key: text, prefix, mode, base_url, origin, ...rest } = key;
  return json({ id, key: text, prefix, mode, base_url, origin, ...rest });
}
