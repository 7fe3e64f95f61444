/** The operator's commands for refunds, corrections, statements and the comparison with providers. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { AdminError } from '../admin/error.ts';
import { statementHtml } from '../admin/money/statement-page.ts';
import { statementCsv, statementTable } from '../admin/money/statement-text.ts';
import { EXPORT_FORMATS } from '../import/provider-export.ts';
import { reconcile } from '../import/reconcile.ts';
import { UsageError } from './arguments.ts';
import { type Command, command } from './command.ts';
import { reconciliationCsv, reconciliationTable } from './reconcile-text.ts';
import { amount } from './text.ts';

export const MONEY_COMMANDS: readonly Command[] = [
  command({
    words: ['refund'],
    examples: ['refund req_01a1e174667d0053556642d39a21a3d8 --reason "wrong answer"'],
    operands: ['REQUEST_ID'],
    flags: { reason: 'TEXT', amount: 'CREDITS', id: 'ENTRY_ID' },
    summary: 'refund what a request was charged, or --amount of it, to whoever paid; with --id it is safe to repeat',
    ask: (api, { operands: [id = ''], flags }) =>
      api.call('refund', { id, body: { amount: flags.amount, reason: flags.reason, entry_id: flags.id } }),
    print: ({ amount: back, entry_id, request_id, payer, refunded, charged, balance }) => [
      `${amount(back)} credits refunded to ${payer}, which has a balance of ${amount(balance)} (${entry_id})`,
      `${request_id} was charged ${amount(charged)}, of which ${amount(refunded)} has been refunded`,
    ],
  }),
  command({
    words: ['promotions'],
    examples: ['promotions acct_1'],
    operands: ['ID'],
    summary: 'list what is left of the promotional credit of an account or key, next to expire first',
    ask: async (api, { operands: [id = ''] }) => (await api.call('promotions', { id })).data,
    print: (open, { operands: [id] }) =>
      open.length === 0
        ? [`${id} has no promotional credit`]
        : open.map(
            (each) => `${amount(each.left)} of ${amount(each.amount)} credits until ${each.expires_at} (${each.id})`,
          ),
  }),
  command({
    words: ['statement'],
    examples: ['statement acct_1 --month 2026-11', 'statement acct_1 --month 2026-11 --csv'],
    operands: ['ID'],
    flags: { month: 'YYYY-MM', from: 'DATE', to: 'DATE' },
    switches: ['csv', 'html', 'json'],
    summary:
      'print opening balance, entries, usage and closing balance of an account or key; without --month, for the last full month',
    ask: async (api, { operands: [id = ''], flags, switches }) => {
      if (switches.size > 1) throw new UsageError('give one of --csv, --html and --json');
      return api.call('statement', { id, query: flags });
    },
    print: (statement, { switches }) => {
      if (switches.has('csv')) return statementCsv(statement);
      return switches.has('html') ? [statementHtml(statement).trimEnd()] : statementTable(statement);
    },
  }),
  command({
    words: ['reconcile'],
    examples: ['reconcile usage.csv --provider openai'],
    operands: ['FILE.csv'],
    flags: {
      provider: 'NAME',
      export: EXPORT_FORMATS.join('|'),
      models: 'THEIRS=OURS,…',
      tolerance: 'PERCENT',
      'usd-per-credit': 'USD',
    },
    switches: ['csv', 'json'],
    summary: "compare a provider's usage or cost export with the usage records by day and model; exit 1 if they differ",
    ask: async (api, { operands: [file = ''], flags, switches }) => {
      if (switches.size > 1) throw new UsageError('give --csv or --json, not both');
      const { provider } = flags;
      if (provider === undefined) throw new UsageError('reconcile needs --provider NAME, as the usage reports name it');
      return reconcile(api, basename(file), contentOf(file), {
        provider,
        format: flags.export,
        models: flags.models,
        tolerance: flags.tolerance,
        usdPerCredit: flags['usd-per-credit'],
      });
    },
    print: (found, { switches }) => (switches.has('csv') ? reconciliationCsv(found) : reconciliationTable(found)),
    exitCode: ({ differences }) => (differences.length === 0 ? 0 : 1),
  }),
  command({
    words: ['correct'],
    examples: ['correct key_1 --by -2.5 --reason "billed twice"'],
    operands: ['ID'],
    flags: { by: 'CREDITS', reason: 'TEXT', id: 'ENTRY_ID' },
    summary:
      'correct the balance of a root or of a key without an account: --by 5 adds credits, --by -5 subtracts credits that are not held',
    ask: (api, { operands: [id = ''], flags }) =>
      api.call('correct', { id, body: { amount: flags.by, reason: flags.reason, entry_id: flags.id } }),
    print: ({ payer, amount: by, balance, entry_id }) => [
      `${payer} has a balance of ${amount(balance)} credits after ${amount(by)} (${entry_id})`,
    ],
  }),
];

/** Of a file that the operator names. */
export function contentOf(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new AdminError('invalid_input', `${file} cannot be read: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    });
  }
}
