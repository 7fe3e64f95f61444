/**
 * Keys as the API takes and gives them. `expected` is what an error message says after "must be". The command line
 * sends numbers as strings, so both are accepted.
 */
import { AMOUNT_MAX, creditsFromNanos } from '../../core/money.ts';
import { Type } from '../../lib/schema-builder.ts';
import { NextCursor, pageParameters } from '../http/page.ts';
import type { View } from '../http/view.ts';
import { Promotional } from '../money/promotional.ts';
import { keyFieldsShown, keySettings } from './fields.ts';
import { EntryId, OneLine } from './limits.ts';

const closed = { additionalProperties: false };
export const Credits = Type.Union([Type.String(), Type.Number()], {
  expected: `a decimal number of credits from 0 to ${Math.floor(creditsFromNanos(AMOUNT_MAX))}, at most 9 decimals`,
  description: 'Decimal credits. A string is read exactly, a number by its shortest decimal form.',
});

export const NewKeyBody = Type.Object(
  {
    mode: Type.Enum(['credit', 'token_budget']),
    credit: Type.Optional(Credits),
    account: Type.Optional(
      Type.Union([OneLine, Type.Null()], { description: 'The account that pays for the key, by its id.' }),
    ),
    ...keySettings,
  },
  { title: 'NewKey', ...closed },
);

/** More than this goes in several files. */
const IMPORTED_KEYS_MAX = 5_000;

/** Every key is validated by itself, so that a refusal names it. */
export const KeyImportBody = Type.Object(
  {
    keys: Type.Array(Type.Unknown(), {
      minItems: 1,
      maxItems: IMPORTED_KEYS_MAX,
      expected: `a list of 1 to ${IMPORTED_KEYS_MAX} keys`,
      description:
        'Keys as for POST /keys; `account` may also be the external id of an account, and `key` the text of a key that clients have already.',
    }),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only check whether they could be created.' })),
  },
  { title: 'KeyImport', ...closed },
);

export const KeyChangeBody = Type.Object(
  {
    status: Type.Optional(
      Type.Enum(['active', 'suspended', 'disabled', 'revoked'], {
        expected: 'one of active, suspended, disabled, revoked (expired follows from expires_at: move that instead)',
      }),
    ),
    ...keySettings,
  },
  { title: 'KeyChange', ...closed },
);

export const CreditBody = Type.Object(
  {
    amount: Credits,
    note: Type.Optional(Type.Union([OneLine, Type.Null()])),
    entry_id: Type.Optional(
      Type.String({ ...EntryId, description: 'Names the purchase: sent again with the same id, it is booked once.' }),
    ),
    expires_at: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        expected: 'a time to come like 2030-01-31T12:00:00Z, or a date like 2030-01-31 (UTC)',
        description: 'Makes it promotional credit: spent before what was purchased, and gone at this time.',
      }),
    ),
  },
  { title: 'NewCredit', ...closed },
);

const nullable = { text: Type.Union([Type.String(), Type.Null()]), integer: Type.Union([Type.Integer(), Type.Null()]) };

const keyFields = {
  id: Type.String(),
  version: Type.Integer({ description: 'Grows with every change; the ETag is made of it.' }),
  prefix: Type.String({ description: 'The beginning of the newest secret, to recognise it by.' }),
  prefixes: Type.Array(Type.String()),
  base_url: Type.String({ description: 'For clients of Format A.' }),
  origin: Type.String({ description: 'For clients of Format B, which append /v1/messages themselves.' }),
  label: nullable.text,
  status: Type.Enum(['active', 'suspended', 'disabled', 'expired', 'revoked']),
  ...keyFieldsShown,
  created_at: Type.String(),
  used: Type.Number(),
  reserved: Type.Number(),
  live_holds: Type.Integer(),
  requests: Type.Integer(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  account: Type.Optional(Type.String({ description: 'The account that pays for the key.' })),
  account_name: Type.Optional(Type.String({ description: 'What that account is called now; in lists.' })),
};

const creditFields = {
  ...keyFields,
  mode: Type.Literal('credit'),
  credit: Type.Number({ description: 'Everything bought so far.' }),
  balance: Type.Number(),
  remaining: Type.Number(),
  today_spend: Type.Number(),
  promotional: Type.Optional(Promotional),
  cap: Type.Optional(
    Type.Object(
      { amount: Type.Number(), period: Type.Enum(['day', 'week', 'month', 'none']), used: Type.Number() },
      { description: 'Of a key of an account.' },
    ),
  ),
};

const budgetFields = {
  ...keyFields,
  mode: Type.Literal('token_budget'),
  budget: nullable.integer,
  period: Type.Enum(['day', 'week', 'month', 'none']),
  period_ends_at: nullable.text,
  remaining: nullable.integer,
};

const text = Type.String({ description: 'The key itself. It is shown once, here, and stored nowhere.' });

const CreditKey = Type.Object(creditFields, { title: 'CreditKey' });
const BudgetKey = Type.Object(budgetFields, { title: 'BudgetKey' });
export const Key = Type.Union([CreditKey, BudgetKey], { title: 'Key' });
/** As the account that keys belong to: they have none. */
export const NO_ACCOUNT = 'none';

export const KeyQuery = Type.Object(
  {
    ...pageParameters('keys'),
    status: Type.Optional(Type.Enum(['active', 'suspended', 'disabled', 'expired', 'revoked'])),
    mode: Type.Optional(Type.Enum(['credit', 'token_budget'])),
    account: Type.Optional(
      Type.String({ description: `The id of the account that they belong to; ${NO_ACCOUNT}: keys that have none.` }),
    ),
    below: Type.Optional(
      Type.Enum(['yes', 'no'], { description: 'yes: also keys of the accounts below `account`. Default no.' }),
    ),
    label: Type.Optional(Type.String({ description: 'The exact label.' })),
    search: Type.Optional(
      Type.String({ description: 'A part of the label, the id or the beginning of a secret, in any case of letters.' }),
    ),
  },
  { title: 'KeyQuery', ...closed },
);

export const KeyList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(Key),
    next_cursor: NextCursor,
  },
  { title: 'KeyList' },
);
export const CreatedKey = Type.Union(
  [
    Type.Object({ ...creditFields, key: text }, { title: 'CreatedCreditKey' }),
    Type.Object({ ...budgetFields, key: text }, { title: 'CreatedBudgetKey' }),
  ],
  { title: 'CreatedKey' },
);

const takenText = Type.Union([Type.String(), Type.Null()], {
  description: 'The key itself, shown once and stored nowhere; null where its text was given.',
});
const ImportedKey = Type.Union(
  [Type.Object({ ...creditFields, key: takenText }), Type.Object({ ...budgetFields, key: takenText })],
  { title: 'ImportedKey' },
);

export const ImportedKeys = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ImportedKey, { description: 'In the order in which they were given; empty for a dry run.' }),
    keys: Type.Integer({ description: 'How many were created, or could be.' }),
  },
  { title: 'ImportedKeys' },
);

export type KeyView = View<typeof Key>;
/** The only shape that holds a key's text: it is shown once, here, and stored nowhere. */
export type CreatedKey = View<typeof CreatedKey>;
export type ImportedKeysView = View<typeof ImportedKeys>;
