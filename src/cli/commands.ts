/** The operator's commands. They use the admin API, whether a gateway is running or not. */

import type { CreatedKey } from '../admin/keys/schema.ts';
import { USAGE_DIMENSIONS, USAGE_PERIODS } from '../core/usage-report.ts';
import { ACCOUNT_COMMANDS } from './account-commands.ts';
import { ALERT_COMMANDS } from './alert-commands.ts';
import { type CommandShape, shape, UsageError, usageLine, versionGiven } from './arguments.ts';
import { type Command, command } from './command.ts';
import { COMPLETION } from './completion.ts';
import { DATA_COMMANDS } from './data-commands.ts';
import { DEFINITION_COMMANDS } from './definition-commands.ts';
import { IMPORT_COMMANDS } from './import-commands.ts';
import { IMPORTERS } from './importer-shapes.ts';
import { MONEY_COMMANDS } from './money-commands.ts';
import { OPERATOR_COMMANDS } from './operator-commands.ts';
import { historyCommand, REQUEST_COMMANDS } from './request-commands.ts';
import { ACCOUNT_SETTINGS, flagsOf, KEY_SETTINGS, settingsIn } from './settings.ts';
import { STATE_COMMANDS } from './state-commands.ts';
import { auditText, createdText, keyLine, keysTable, keyText, lastAuditText } from './text.ts';
import { usageCsv, usageTable } from './usage-text.ts';

const KEY_FLAGS = flagsOf(KEY_SETTINGS);

export const COMMANDS: readonly Command[] = [
  command({
    words: ['keys', 'create'],
    examples: [
      'keys create --mode credit --credit 25 --label ci',
      'keys create --mode token_budget --budget 1000000 --period month',
      'keys create --mode credit --account acct_1 --cap 5 --period week',
    ],
    flags: { mode: 'credit|token_budget', credit: 'CREDITS', account: 'ID', ...KEY_FLAGS },
    summary:
      'create a key, shown once: --mode credit takes --credit, or --account and --cap; --mode token_budget takes --budget and --period',
    createsData: true,
    ask: async (api, { flags }) => {
      const { mode, credit, account } = flags;
      return secretFirst(
        await api.call('createKey', { body: { mode, credit, account, ...settingsIn(KEY_SETTINGS, flags) } }),
      );
    },
    print: createdText,
  }),
  command({
    words: ['keys', 'list'],
    examples: ['keys list', 'keys list --account acct_1 --status active', 'keys list --search laptop'],
    flags: {
      account: 'ID|none',
      below: 'yes|no',
      status: 'active|suspended|disabled|expired|revoked',
      mode: 'credit|token_budget',
      label: 'TEXT',
      search: 'TEXT',
    },
    summary: 'list all keys, or those that match, newest first; --search: a part of the label, the id or the prefix',
    ask: (api, { flags }) => api.all('listKeys', flags),
    print: (keys, { flags }) => {
      const isFound = keys.length > 0 || Object.keys(flags).length === 0;
      return isFound ? keysTable(keys) : ['No key matches.'];
    },
  }),
  command({
    words: ['keys', 'show'],
    examples: ['keys show key_1'],
    operands: ['ID'],
    summary: 'show one key with its balance',
    ask: (api, { operands: [id = ''] }) => api.call('showKey', { id }),
    print: keyText,
  }),
  historyCommand(
    'keys',
    'keyHistory',
    'key_1',
    'list what was done to a key, and what was refunded of its requests, newest first',
  ),
  command({
    words: ['keys', 'update'],
    examples: ['keys update key_1 --rpm 600 --expires 2030-01-31', 'keys update key_1 --label ci --if-version 3'],
    operands: ['ID'],
    flags: { ...KEY_FLAGS, 'if-version': 'N' },
    summary: 'change the given settings; with --if-version, only if the key still has that version',
    ask: async (api, { operands: [id = ''], flags }) =>
      api.call('changeKey', { id, body: settingsIn(KEY_SETTINGS, flags), version: versionGiven(flags) }),
    print: keyLine,
  }),
  statusCommand('suspend', 'suspended', 'reject the key as invalid (401) until it is resumed'),
  statusCommand('resume', 'active', 'make a suspended key active again'),
  statusCommand('disable', 'disabled', 'reject the key as disabled (403) until it is enabled'),
  statusCommand('enable', 'active', 'make a disabled key active again'),
  statusCommand('revoke', 'revoked', 'revoke the key permanently'),
  command({
    words: ['keys', 'rotate'],
    examples: ['keys rotate key_1'],
    operands: ['ID'],
    summary: 'add a secret to the key; the older ones keep working',
    ask: async (api, { operands: [id = ''] }) => secretFirst(await api.call('addSecret', { id })),
    print: createdText,
  }),
  command({
    words: ['keys', 'revoke-secret'],
    examples: ['keys revoke-secret key_1 mg_c_0123456'],
    operands: ['ID', 'PREFIX'],
    summary: 'revoke one secret of a key that has several',
    ask: (api, { operands: [id = '', prefix = ''] }) => api.call('revokeSecret', { id, prefix }),
    print: keyLine,
  }),
  command({
    words: ['credit', 'add'],
    examples: ['credit add key_1 10 --note "invoice 4711"'],
    operands: ['ID', 'AMOUNT'],
    flags: { note: 'TEXT', id: 'ENTRY_ID', expires: 'ISO' },
    summary: 'add credits to a credit key; with --expires they are promotional: they are spent first, and expire then',
    ask: (api, { operands: [id = '', amount], flags }) =>
      api.call('addCredit', {
        id,
        body: { amount, note: flags.note, entry_id: flags.id, expires_at: flags.expires },
      }),
    print: keyLine,
  }),
  ...ACCOUNT_COMMANDS,
  ...ALERT_COMMANDS,
  ...MONEY_COMMANDS,
  command({
    words: ['audit'],
    examples: ['audit'],
    switches: ['last', 'json'],
    summary:
      'recompute every balance from its entries; exit 0 only when all match; --last: the result of the last audit',
    ask: async (api, { switches }) => (switches.has('last') ? api.call('lastAudit', {}) : api.call('audit', {})),
    print: (audit) => ('last' in audit ? lastAuditText(audit) : auditText(audit)),
    exitCode: (audit) => (('last' in audit ? audit.last : audit)?.ok === true ? 0 : 1),
  }),
  command({
    words: ['usage'],
    examples: [
      'usage --by model,day --since 30d',
      'usage --by account --level 1 --period last_month --time-zone Europe/Berlin',
      'usage --by key --account acct_1 --csv',
    ],
    flags: {
      by: 'DIMENSION,…',
      since: 'TIME|30d',
      until: 'TIME',
      period: USAGE_PERIODS.join('|'),
      'time-zone': 'NAME',
      key: 'ID',
      account: 'ID',
      level: 'N',
      label: 'TEXT',
      model: 'ID',
      provider: 'NAME',
      format: 'NAME',
      top: 'N',
      order: 'cost|requests|tokens|failed',
    },
    switches: ['csv', 'json'],
    summary: `show requests, failures, tokens, cost and margin of the last 30 days; --by takes ${USAGE_DIMENSIONS.join(', ')}`,
    ask: async (api, { flags, switches }) => {
      if (switches.has('csv') && switches.has('json')) throw new UsageError('give --csv or --json, not both');
      const { 'time-zone': time_zone, ...query } = flags;
      return api.call('usage', { query: { ...query, ...(time_zone !== undefined && { time_zone }) } });
    },
    print: (report, { switches }) => (switches.has('csv') ? usageCsv(report) : usageTable(report)),
  }),
  ...REQUEST_COMMANDS,
  ...STATE_COMMANDS,
  ...DEFINITION_COMMANDS,
  ...IMPORT_COMMANDS,
  ...OPERATOR_COMMANDS,
];

/** Not in COMMANDS: it starts the gateway instead of using the admin API. */
export const START: CommandShape = shape({
  words: ['start'],
  examples: ['start', 'start --workers 4'],
  flags: { workers: 'N' },
  switches: [],
  summary: 'serve until SIGTERM or SIGINT; --workers N shares the port among N processes, on PostgreSQL (default 1)',
});

/** Not in COMMANDS: it checks more than the store, and also works when the store cannot be reached. */
export const DOCTOR: CommandShape = shape({
  words: ['doctor'],
  examples: ['doctor', 'doctor --no-probe --json'],
  switches: ['no-probe', 'json'],
  summary: 'check config, providers, models and store; --no-probe skips the one-token generations, which cost money',
});

/** Not among the others: it looks at the configuration, and goes on where the store cannot be reached. */
export const MODELS: CommandShape = shape({
  words: ['models'],
  examples: ['models', 'models --json'],
  summary: 'list every model with its price and limits, and the source and date of each',
});

/** Not among the others: it looks at a file, and at no store. */
export const CHECK_CONFIG: CommandShape = shape({
  words: ['config', 'check'],
  examples: ['config check gateway.yaml', 'config check gateway.yaml --json'],
  operands: ['FILE'],
  summary:
    'check whether a gateway could start with this config file; prints every problem with its path, or the models it would serve',
});

/** Not among the others: they read the request log, which is not part of the store. */
export const SHOW_REQUEST: CommandShape = shape({
  words: ['requests', 'show'],
  examples: ['requests show req_01a1e174667d0053556642d39a21a3d8'],
  operands: ['ID'],
  summary: 'show what happened to a request, and what to do next; ID is the x-request-id of the response',
});

export const LIST_REQUESTS: CommandShape = shape({
  words: ['requests', 'list'],
  examples: ['requests list --status 5xx --since 1h', 'requests list --key key_1 --slower 2s --follow'],
  flags: {
    key: 'ID',
    model: 'ID',
    'model-part': 'TEXT',
    provider: 'NAME',
    format: 'NAME',
    'client-request-id': 'ID',
    status: 'N|5xx',
    condition: 'NAME|any',
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
});

/** Not among the others: it goes on until it is stopped. */
export const TOP: CommandShape = shape({
  words: ['top'],
  examples: ['top'],
  summary: 'show the requests in flight, their holds and tokens per second, by model and key',
});

/** Every command, in the order of the help. */
export const ALL_COMMANDS: readonly CommandShape[] = [
  ...[START, DOCTOR, MODELS, CHECK_CONFIG, COMPLETION, ...DATA_COMMANDS, SHOW_REQUEST, LIST_REQUESTS, TOP],
  ...IMPORTERS,
  ...COMMANDS,
];

/** The flag for each field of the API, for error messages: most have the same name. */
export const FLAG_OF_FIELD: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [LIST_REQUESTS, ...COMMANDS]
      .flatMap(({ flags }) => Object.keys(flags))
      .map((flag) => [flag.replaceAll('-', '_'), `--${flag}`]),
  ),
  ...Object.fromEntries([...KEY_SETTINGS, ...ACCOUNT_SETTINGS].map(({ field, flag }) => [field, `--${flag}`])),
  entry_id: '--id',
  slower_than: '--slower',
  costlier_than: '--costlier',
  amount: 'AMOUNT',
  name: 'NAME',
  account_id: '--account',
};

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
  return command({
    words: ['keys', word],
    examples: [`keys ${word} key_1`],
    operands: ['ID'],
    summary,
    ask: (api, { operands: [id = ''] }) => api.call('changeKey', { id, body: { status } }),
    print: keyLine,
  });
}

/** Whoever reads JSON by eye finds the secret at its beginning. */
function secretFirst(made: CreatedKey): CreatedKey {
  const { id, key, prefix, mode, base_url, origin } = made;
  return Object.assign({ id, key, prefix, mode, base_url, origin }, made);
}
