/** Refunds and corrections as the API takes and gives them. */
import { Type } from '../../lib/schema-builder.ts';
import type { View } from '../http/view.ts';
import { EntryId, OneLine } from '../keys/limits.ts';
import { Credits } from '../keys/schema.ts';

const closed = { additionalProperties: false };
const Reason = Type.String({ ...OneLine, description: 'Why, for whoever reads the statement.' });
const NewEntryId = Type.Optional(
  Type.String({ ...EntryId, description: 'Names the entry: sent again with the same id, it is booked once.' }),
);

export const RefundBody = Type.Object(
  {
    amount: Type.Optional(
      Type.Union([Credits, Type.Null()], { ...Credits, description: 'Without it, all that is left.' }),
    ),
    reason: Reason,
    entry_id: NewEntryId,
  },
  { title: 'NewRefund', ...closed },
);

export const CorrectionBody = Type.Object(
  {
    amount: Type.Union([Type.String(), Type.Number()], {
      expected: 'a decimal number of credits other than 0, at most 9 decimals, with a minus sign to take them away',
      description: 'Decimal credits with their sign. A string is read exactly.',
    }),
    reason: Reason,
    entry_id: NewEntryId,
  },
  { title: 'NewCorrection', ...closed },
);

export const RefundView = Type.Object(
  {
    object: Type.Literal('refund'),
    entry_id: Type.String(),
    request_id: Type.String(),
    key: Type.String(),
    payer: Type.String({ description: 'Who paid and gets it back: the key, or the root of its account.' }),
    amount: Type.Number(),
    refunded: Type.Number({ description: 'The sum of all refunds of the request.' }),
    charged: Type.Number(),
    balance: Type.Number({ description: 'The balance of the payer afterwards.' }),
  },
  { title: 'Refund' },
);

export const CorrectionView = Type.Object(
  {
    object: Type.Literal('correction'),
    entry_id: Type.String(),
    payer: Type.String(),
    amount: Type.Number(),
    balance: Type.Number({ description: 'After it.' }),
  },
  { title: 'Correction' },
);

export const PromotionList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Type.Object(
        {
          id: Type.String({ description: 'The id of its entry.' }),
          amount: Type.Number(),
          left: Type.Number(),
          expires_at: Type.String({
            description: 'It can be in the past while requests in flight still hold what is left.',
          }),
        },
        { title: 'Promotion' },
      ),
    ),
  },
  { title: 'PromotionList' },
);

export type RefundView = View<typeof RefundView>;
export type CorrectionView = View<typeof CorrectionView>;
