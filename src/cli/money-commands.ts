/** The operator's commands for refunds, corrections, statements and the comparison with providers. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { AdminError } from '../admin/error.ts';
import { statementCsv, statementHtml, statementTable } from '../admin/money/statement-text.ts';
import { EXPORT_FORMATS } from '../import/provider-export.ts';
import { reconcile } from '../import/reconcile.ts';
import { UsageError } from './arguments.ts';
import type { Command } from './command.ts';
import { json, lines, withoutAbsent } from './output.ts';
import { reconciliationCsv, reconciliationTable } from './reconcile-text.ts';
import { amount } from './text.ts';

export const MONEY_COMMANDS: readonly Command[] = [
  {
    words: ['refund'],
    examples: ['refund req_01a1e174667d0053556642d39a21a3d8 --reason "wrong answer"'],
    operands: ['REQUEST_ID'],
    flags: { reason: 'TEXT', amount: 'CREDITS', id: 'ENTRY_ID' },
    switches: ['json'],
    summary: 'refund what a request was charged, or --amount of it, to whoever paid; with --id it is safe to repeat',
    run: async (api, { operands: [requestId = ''], flags, switches }) => {
      const input = { amount: flags.amount, reason: flags.reason, entry_id: flags.id };
      const refund = await api.call('refund', { id: requestId, body: withoutAbsent(input) });
      if (switches.has('json')) return json(refund);
      const { payer, refunded, charged, balance } = refund;
      return lines([
        `${amount(refund.amount)} credits refunded to ${payer}, which has a balance of ${amount(balance)} (${refund.entry_id})`,
        `${requestId} was charged ${amount(charged)}, of which ${amount(refunded)} has been refunded`,
      ]);
    },
  },
  {
    words: ['promotions'],
    examples: ['promotions acct_1'],
    operands: ['ID'],
    flags: {},
    switches: ['json'],
    summary: 'list what is left of the promotional credit of an account or key, next to expire first',
    run: async (api, { operands: [id = ''], switches }) => {
      const { data } = await api.call('promotions', { id });
      if (switches.has('json')) return json(data);
      if (data.length === 0) return lines([`${id} has no promotional credit`]);
      return lines(
        data.map(
          (each) => `${amount(each.left)} of ${amount(each.amount)} credits until ${each.expires_at} (${each.id})`,
        ),
      );
    },
  },
  {
    words: ['statement'],
    examples: ['statement acct_1 --month 2026-11', 'statement acct_1 --month 2026-11 --csv'],
    operands: ['ID'],
    flags: { month: 'YYYY-MM', from: 'DATE', to: 'DATE' },
    switches: ['csv', 'html', 'json'],
    summary:
      'print opening balance, entries, usage and closing balance of an account or key; without --month, for the last full month',
    run: async (api, { operands: [id = ''], flags, switches }) => {
      if (switches.size > 1) throw new UsageError('give one of --csv, --html and --json');
      const statement = await api.call('statement', { id, query: flags });
      if (switches.has('json')) return json(statement);
      if (switches.has('csv')) return lines(statementCsv(statement));
      return switches.has('html') ? { text: statementHtml(statement), exitCode: 0 } : lines(statementTable(statement));
    },
  },
  {
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
    run: async (api, { operands: [file = ''], flags, switches }) => {
      if (switches.size > 1) throw new UsageError('give --csv or --json, not both');
      const { provider } = flags;
      if (provider === undefined) throw new UsageError('reconcile needs --provider NAME, as the usage reports name it');
      const found = await reconcile(api, basename(file), contentOf(file), {
        provider,
        format: flags.export,
        models: flags.models,
        tolerance: flags.tolerance,
        usdPerCredit: flags['usd-per-credit'],
      });
      const exitCode = found.differences.length === 0 ? 0 : 1;
      if (switches.has('json')) return { ...json(found), exitCode };
      return { ...lines(switches.has('csv') ? reconciliationCsv(found) : reconciliationTable(found)), exitCode };
    },
  },
  {
    words: ['correct'],
    examples: ['correct key_1 --by -2.5 --reason "billed twice"'],
    operands: ['ID'],
    flags: { by: 'CREDITS', reason: 'TEXT', id: 'ENTRY_ID' },
    switches: ['json'],
    summary:
      'correct the balance of a root or of a key without an account: --by 5 adds credits, --by -5 subtracts credits that are not held',
    run: async (api, { operands: [payerId = ''], flags, switches }) => {
      const input = { amount: flags.by, reason: flags.reason, entry_id: flags.id };
      const correction = await api.call('correct', { id: payerId, body: withoutAbsent(input) });
      if (switches.has('json')) return json(correction);
      const { payer, balance, entry_id } = correction;
      return lines([
        `${payer} has a balance of ${amount(balance)} credits after ${amount(correction.amount)} (${entry_id})`,
      ]);
    },
  },
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
