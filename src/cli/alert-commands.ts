/** The commands about alerts. */
import type { AccountWebhookView, AlertDeliveryView, AlertView } from '../admin/alerts/schema.ts';
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
    examples: ['alerts test'],
    summary: 'send a test to every webhook and command of the config file; exit code 1 if a delivery fails',
    ask: (api) => api.call('testAlerts', {}),
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
  if (deliveries.length === 0) return ['No deliveries: the config file names no webhook and no command under alerts.'];
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

function webhookText({ account, url, secret }: AccountWebhookView): readonly string[] {
  if (url === null) return [`${account} has no webhook`];
  const once = ['', `  ${secret}`, '', 'The secret signs what is posted. It is shown only this once.'];
  return [`${account}: ${url}`, ...(secret === null ? [] : once)];
}
