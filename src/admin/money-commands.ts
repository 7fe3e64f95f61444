/** The operator's commands for refunds and corrections. */
import type { Command } from './commands.ts';
import { json, lines, withoutAbsent } from './output.ts';
import { amount } from './text.ts';

export const MONEY_COMMANDS: readonly Command[] = [
  {
    words: ['refund'],
    operands: ['REQUEST_ID'],
    flags: { reason: 'TEXT', amount: 'CREDITS', id: 'ENTRY_ID' },
    switches: ['json'],
    summary: 'give back what a request was charged, or --amount of it, to whoever paid; with --id it can be sent again',
    run: async (api, { operands: [requestId = ''], flags, switches }) => {
      const input = { amount: flags.amount, reason: flags.reason, entry_id: flags.id };
      const refund = await api.money.refund(requestId, withoutAbsent(input));
      if (switches.has('json')) return json(refund);
      const { payer, refunded, charged, balance } = refund;
      return lines([
        `${amount(refund.amount)} credits refunded to ${payer}, which has a balance of ${amount(balance)} (${refund.entry_id})`,
        `${requestId} was charged ${amount(charged)}, of which ${amount(refunded)} has been refunded`,
      ]);
    },
  },
  {
    words: ['correct'],
    operands: ['ID'],
    flags: { by: 'CREDITS', reason: 'TEXT', id: 'ENTRY_ID' },
    switches: ['json'],
    summary:
      'correct the balance of a root or of a key without an account: --by 5 adds, --by -5 takes away what is free',
    run: async (api, { operands: [payerId = ''], flags, switches }) => {
      const input = { amount: flags.by, reason: flags.reason, entry_id: flags.id };
      const correction = await api.money.correct(payerId, withoutAbsent(input));
      if (switches.has('json')) return json(correction);
      const { payer, balance, entry_id } = correction;
      return lines([
        `${payer} has a balance of ${amount(balance)} credits after ${amount(correction.amount)} (${entry_id})`,
      ]);
    },
  },
];
