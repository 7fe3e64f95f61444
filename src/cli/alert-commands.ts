/** The commands about alerts. */
import type { AccountWebhookView, AlertDeliveryView, AlertView } from '../admin/alerts/schema.ts';
import { UsageError } from './arguments.ts';
import type { Command } from './command.ts';
import { json, lines } from './output.ts';
import { table } from './text.ts';

export const ALERT_COMMANDS: readonly Command[] = [
  {
    words: ['alerts', 'list'],
    examples: ['alerts list --type usage.level'],
    operands: [],
    flags: { type: 'TYPE', limit: 'N', cursor: 'NUMBER' },
    switches: ['json'],
    summary: 'list alerts, newest first',
    run: async (api, { flags, switches }) => {
      const page = await api.call('listAlerts', { query: flags });
      if (switches.has('json')) return json(page);
      const more = page.next_cursor === null ? [] : ['', `More: gateway alerts list --cursor ${page.next_cursor}`];
      return lines([...alertsTable(page.data), ...more]);
    },
  },
  {
    words: ['alerts', 'deliveries'],
    examples: ['alerts deliveries --state dead'],
    operands: [],
    flags: { state: 'pending|delivered|dead', limit: 'N', cursor: 'NUMBER' },
    switches: ['json'],
    summary: 'list deliveries with their results, newest first; --state dead lists deliveries that were given up',
    run: async (api, { flags, switches }) => {
      const page = await api.call('listDeliveries', { query: flags });
      if (switches.has('json')) return json(page);
      const more =
        page.next_cursor === null ? [] : ['', `More: gateway alerts deliveries --cursor ${page.next_cursor}`];
      return lines([...deliveriesTable(page.data), ...more]);
    },
  },
  {
    words: ['alerts', 'test'],
    examples: ['alerts test'],
    operands: [],
    flags: {},
    switches: ['json'],
    summary: 'send a test to every webhook and command of the config file; exit code 1 if a delivery fails',
    run: async (api, { switches }) => {
      const test = await api.call('testAlerts', {});
      const shown = switches.has('json') ? json(test) : lines(deliveriesTable(test.deliveries));
      return { ...shown, exitCode: test.ok ? 0 : 1 };
    },
  },
  {
    words: ['accounts', 'webhook'],
    examples: ['accounts webhook acct_1 --url https://customer.example.com/hook'],
    operands: ['ID'],
    flags: { url: 'URL|none' },
    switches: ['json'],
    summary: "show the account's webhook; --url sets it and shows its new secret once, --url none removes it",
    run: async (api, { operands: [id = ''], flags: { url }, switches }) => {
      if (url === '') throw new UsageError('accounts webhook: --url needs a value: URL|none');
      const webhook =
        url === undefined
          ? await api.call('showWebhook', { id })
          : url === 'none'
            ? await api.call('removeWebhook', { id })
            : await api.call('setWebhook', { id, body: { url } });
      return switches.has('json') ? json(webhook) : lines(webhookText(webhook));
    },
  },
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
