/** The commands about alerts. */
import type { AccountWebhookView, AlertDeliveryView, AlertReceiverView, AlertView } from '../admin/alerts/schema.ts';
import { table } from '../lib/text-table.ts';
import { UsageError } from './arguments.ts';
import { type Command, command, moreLine } from './command.ts';

export const ALERT_COMMANDS: readonly Command[] = [
  command({
    words: ['alerts', 'list'],
    examples: ['alerts list --type usage.level'],
    flags: { type: 'TYPE', limit: 'N', cursor: 'NUMBER' },
    summary: 'list alerts, newest first',
    ask: (api, { flags }) => api.call('listAlerts', { query: flags }),
    print: ({ data, next_cursor }) => [...alertsTable(data), ...moreLine('alerts list', next_cursor)],
  }),
  command({
    words: ['alerts', 'deliveries'],
    examples: ['alerts deliveries --state dead'],
    flags: { state: 'pending|delivered|dead', limit: 'N', cursor: 'NUMBER' },
    summary: 'list deliveries with their results, newest first; --state dead lists deliveries that were given up',
    ask: (api, { flags }) => api.call('listDeliveries', { query: flags }),
    print: ({ data, next_cursor }) => [...deliveriesTable(data), ...moreLine('alerts deliveries', next_cursor)],
  }),
  command({
    words: ['alerts', 'test'],
    examples: ['alerts test', 'alerts test --receiver "slack ops"'],
    flags: { receiver: 'TARGET' },
    summary:
      'send a test to every receiver of the config file, or to the one that --receiver names; exit code 1 if a delivery fails',
    ask: (api, { flags }) => api.call('testAlerts', { query: flags }),
    print: ({ deliveries }) => deliveriesTable(deliveries),
    exitCode: ({ ok }) => (ok ? 0 : 1),
  }),
  command({
    words: ['alerts', 'receivers'],
    examples: ['alerts receivers'],
    flags: { limit: 'N', cursor: 'ID' },
    summary: 'list who is told: receivers of the config file and of accounts, with their last delivery and failure',
    ask: (api, { flags }) => api.call('listReceivers', { query: flags }),
    print: ({ enabled, data, next_cursor }) => [
      ...(enabled ? [] : ['Alerts are switched off, or no gateway runs: the config file has no section alerts.']),
      ...receiversTable(data),
      ...moreLine('alerts receivers', next_cursor),
    ],
  }),
  command({
    words: ['accounts', 'receivers'],
    examples: ['accounts receivers acct_1'],
    operands: ['ID'],
    summary: 'list who is told of the alerts of an account, with the last delivery and failure of each',
    ask: (api, { operands: [id = ''] }) => api.call('accountReceivers', { id }),
    print: ({ data }) => receiversTable(data),
  }),
  command({
    words: ['accounts', 'add-receiver'],
    examples: ['accounts add-receiver acct_1 --email billing@customer.example.com'],
    operands: ['ID'],
    flags: { slack: 'URL', email: 'ADDRESS' },
    summary: 'send the alerts of an account to a Slack channel, by its incoming webhook, or to an e-mail address too',
    ask: (api, { operands: [id = ''], flags: { slack, email } }) => {
      if ((slack === undefined) === (email === undefined)) {
        throw new UsageError('accounts add-receiver: give --slack URL or --email ADDRESS, and one of them');
      }
      const body = slack === undefined ? { kind: 'email', address: email } : { kind: 'slack', address: slack };
      return api.call('addReceiver', { id, body });
    },
    print: ({ account, id, kind, address }) => [`${account}: ${id} (${kind}, ${address})`],
  }),
  command({
    words: ['accounts', 'remove-receiver'],
    examples: ['accounts remove-receiver acct_1 email_1'],
    operands: ['ID', 'RECEIVER'],
    summary: 'send the alerts of an account to this one no more',
    ask: (api, { operands: [id = '', receiver = ''] }) => api.call('removeReceiver', { id, receiver }),
    print: ({ account, id }) => [`${account}: ${id} is removed`],
  }),
  command({
    words: ['accounts', 'test-receiver'],
    examples: ['accounts test-receiver acct_1 email_1'],
    operands: ['ID', 'RECEIVER'],
    summary: 'send a test to a receiver of an account ("webhook": to its webhook); exit code 1 if it fails',
    ask: (api, { operands: [id = '', receiver = ''] }) => api.call('testReceiver', { id, receiver }),
    print: ({ deliveries }) => deliveriesTable(deliveries),
    exitCode: ({ ok }) => (ok ? 0 : 1),
  }),
  command({
    words: ['accounts', 'webhook'],
    examples: ['accounts webhook acct_1 --url https://customer.example.com/hook'],
    operands: ['ID'],
    flags: { url: 'URL|none' },
    summary: "show the account's webhook; --url sets it and shows its new secret once, --url none removes it",
    ask: async (api, { operands: [id = ''], flags: { url } }) => {
      if (url === '') throw new UsageError('accounts webhook: --url needs a value: URL|none');
      if (url === undefined) return api.call('showWebhook', { id });
      return url === 'none' ? api.call('removeWebhook', { id }) : api.call('setWebhook', { id, body: { url } });
    },
    print: webhookText,
  }),
];

function alertsTable(alerts: readonly AlertView[]): readonly string[] {
  if (alerts.length === 0) return ['No alerts.'];
  return table([
    ['AT', 'TYPE', 'ID', 'WHAT'],
    ...alerts.map(({ at, type, id, data }) => [at, type, id, alertText(data)]),
  ]);
}

function alertText(data: AlertView['data']): string {
  return Object.entries(data)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}

function deliveriesTable(deliveries: readonly AlertDeliveryView[]): readonly string[] {
  if (deliveries.length === 0) return ['No deliveries: the config file names no receiver under alerts.'];
  return table([
    ['RAISED', 'TYPE', 'ALERT', 'TARGET', 'STATE', 'ATTEMPTS', 'NEXT', 'ERROR'],
    ...deliveries.map(({ raised_at, type, alert_id, target, state, attempts, next_attempt_at, error }) => [
      raised_at,
      type,
      alert_id,
      target,
      state,
      String(attempts),
      next_attempt_at ?? '-',
      error ?? '',
    ]),
  ]);
}

function receiversTable(receivers: readonly AlertReceiverView[]): readonly string[] {
  if (receivers.length === 0) return ['No receivers.'];
  return table([
    ['TARGET', 'KIND', 'ADDRESS', 'TYPES', 'WAITING', 'DELIVERED', 'FAILED', 'ERROR'],
    ...receivers.map((one) => [
      one.target,
      one.kind,
      one.address ?? '-',
      one.types?.join(',') ?? 'all',
      String(one.waiting),
      one.last_delivered_at ?? '-',
      one.last_failed_at ?? '-',
      one.last_error ?? '',
    ]),
  ]);
}

function webhookText({ account, url, secret }: AccountWebhookView): readonly string[] {
  if (url === null) return [`${account} has no webhook`];
  const once = ['', `  ${secret}`, '', 'The secret signs what is posted. It is shown only this once.'];
  return [`${account}: ${url}`, ...(secret === null ? [] : once)];
}
