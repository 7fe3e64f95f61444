/** Statements as the API takes and gives them. Amounts are texts of decimal credits, which add up exactly. */
import { MONTH } from '../../core/time.ts';
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';
import { tokenFields } from '../usage/schema.ts';

const Day = { expected: 'a day like 2026-10-01 (UTC)' };

export const StatementQuery = Type.Object(
  {
    month: Type.Optional(
      Type.String({
        pattern: MONTH,
        expected: 'a month like 2026-10, from 1970-01 to 2999-12',
        description: 'A month in UTC. Without it, and without from and to: the last full month.',
      }),
    ),
    from: Type.Optional(Type.String({ ...Day, description: 'The first day, in UTC.' })),
    to: Type.Optional(Type.String({ ...Day, description: 'The first day after the period, in UTC.' })),
    format: Type.Optional(Type.Enum(['json', 'csv', 'html'], { description: 'Default json.' })),
  },
  { additionalProperties: false },
);

const Amount = (description: string) => Type.String({ description });
const text = Type.Union([Type.String(), Type.Null()]);

const inCurrency = {
  amount_in_currency: Type.Union([Type.String(), Type.Null()], {
    description: 'The amount in `currency`, rounded; null where none is configured.',
  }),
};

const StatementEntry = Type.Object(
  {
    at: Type.String(),
    kind: Type.Enum(['purchase', 'promotion', 'refund', 'correction', 'expired', 'transfer_out', 'transfer_in']),
    id: Type.String(),
    amount: Amount('What it adds to the balance, with its sign.'),
    ...inCurrency,
    reason: text,
    actor: Type.Union([Type.String(), Type.Null()], { description: 'The operator who booked it.' }),
    request_id: Type.Union([Type.String(), Type.Null()], { description: 'The request that was refunded.' }),
    expires_at: Type.Union([Type.String(), Type.Null()], { description: 'Of promotional credit.' }),
    other: Type.Union([Type.String(), Type.Null()], {
      description: 'The other side of a transfer, or the promotion that expired.',
    }),
  },
  { title: 'StatementEntry' },
);

const tokens = {
  recorded: Type.Integer({
    description: 'Calls that have a usage record; the tokens are theirs. Cancelled calls have none.',
  }),
  ...tokenFields,
};

const StatementUsage = Type.Object(
  {
    key: Type.String(),
    label: Type.Union([Type.String(), Type.Null()], { description: 'What the key is called now.' }),
    account: Type.Union([Type.String(), Type.Null()], { description: 'The account that the key has now.' }),
    account_name: text,
    model: Type.Union([Type.String(), Type.Null()], { description: 'Null where nothing is known of the calls.' }),
    charges: Type.Integer({ description: 'Calls that were charged, cancelled ones too.' }),
    amount: Amount('What was charged for them.'),
    ...inCurrency,
    ...tokens,
  },
  { title: 'StatementUsage' },
);

export const Statement = Type.Object(
  {
    object: Type.Literal('statement'),
    id: Type.String({ description: 'Of the account or the key.' }),
    of: Type.Enum(['key', 'root', 'account']),
    name: Type.Union([Type.String(), Type.Null()], { description: 'The name or label that it has today.' }),
    from: Type.String(),
    to: Type.String({ description: 'The first day after the period.' }),
    closed: Type.Boolean({ description: 'false: the period is not over, and more may follow.' }),
    opening_balance: Type.Union([Type.String(), Type.Null()], {
      description: 'In credits; null for an account below a root, which has no balance of its own.',
    }),
    closing_balance: text,
    issued_at: Type.String({ description: 'When it was made.' }),
    issuer: Type.Union(
      [
        Type.Object({
          name: text,
          address: Type.Array(Type.String()),
          contact: text,
          tax_id: text,
          note: text,
        }),
        Type.Null(),
      ],
      { description: 'Who issues it, as the configuration says (`statements`); null where it says nothing.' },
    ),
    currency: Type.Union(
      [
        Type.Object({
          code: Type.String(),
          credit_price: Type.String({ description: 'What one credit costs in it.' }),
          opening_balance: text,
          entries: Type.String(),
          usage: Type.String(),
          by_kind: Type.Record(Type.String(), Type.String()),
          closing_balance: text,
        }),
        Type.Null(),
      ],
      { description: 'The same sums in the currency of the configuration, rounded; credits are what counts.' },
    ),
    entries: Type.Array(StatementEntry),
    usage: Type.Array(StatementUsage),
    totals: Type.Object({
      by_kind: Type.Record(Type.String(), Type.String(), { description: 'The sum of the entries of each kind.' }),
      entries: Amount('The sum of the entries.'),
      usage: Amount('The sum of the usage: opening_balance + entries - usage = closing_balance.'),
      charges: Type.Integer(),
      ...tokens,
    }),
  },
  { title: 'Statement' },
);

export const StatementCsv = Type.String({
  title: 'StatementCsv',
  description: 'Lines of opening balance, entries, usage and closing balance, for `format=csv`.',
});

export const StatementPage = Type.String({
  title: 'StatementPage',
  description: 'The statement as a page to print, for `format=html`.',
});

export type StatementView = View<typeof Statement>;
