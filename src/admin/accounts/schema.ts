/** Accounts in a tree, as the API takes and gives them. */
import { Type } from '../../lib/schema-builder.ts';
import { NextCursor, pageParameters } from '../http/page.ts';
import type { View } from '../http/view.ts';
import { Digits, EntryId, limitFields, limitSettings, OneLine } from '../keys/limits.ts';
import { Credits } from '../keys/schema.ts';
import { Promotional } from '../money/promotional.ts';

const LABELS_MAX = 50;
const closed = { additionalProperties: false };
const Period = Type.Enum(['day', 'week', 'month', 'none']);
const Status = Type.Enum(['active', 'suspended', 'closed']);

/** As an object, or as one text: `50/month`. */
const cap = <Amount extends typeof Credits | typeof Tokens>(amount: Amount, unit: string) =>
  Type.Optional(
    Type.Union([Type.Object({ amount, period: Period }, closed), Type.String(), Type.Null()], {
      expected: `${unit} and a period (day, week, month or none for ever), like "50/month", or "none"`,
      description: `The most ${unit} that may be spent below the account in a period.`,
    }),
  );
const Tokens = Type.Union([Type.Integer({ minimum: 0 }), Digits], {
  expected: 'a whole number of tokens from 0 up',
});

const settings = {
  external_id: Type.Optional(
    Type.Union([OneLine, Type.Literal(''), Type.Null()], {
      description: 'Your own id for it; no two accounts share one.',
    }),
  ),
  labels: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      maxProperties: LABELS_MAX,
      expected: `an object of up to ${LABELS_MAX} texts`,
    }),
  ),
  ...limitSettings,
  credit_cap: cap(Credits, 'credits'),
  token_cap: cap(Tokens, 'tokens'),
};

export const NewAccountBody = Type.Object(
  {
    name: OneLine,
    parent: Type.Optional(Type.Union([OneLine, Type.Null()], { description: 'Absent for the root of a new tree.' })),
    ...settings,
  },
  { title: 'NewAccount', ...closed },
);

export const AccountChangeBody = Type.Object(
  {
    name: Type.Optional(OneLine),
    status: Type.Optional(Status),
    ...settings,
  },
  { title: 'AccountChange', ...closed },
);

export const AccountMoveBody = Type.Object({ parent: OneLine }, { title: 'AccountMove', ...closed });

export const AccountKeyBody = Type.Object(
  {
    key: Type.String({ ...OneLine, description: 'The id of the key.' }),
    entry_id: Type.Optional(
      Type.String({ ...EntryId, description: 'Names the transfer of a balance that the key brings along.' }),
    ),
  },
  { title: 'AccountKey', ...closed },
);

export type AccountSettings = Omit<View<typeof AccountChangeBody>, 'status' | 'name'>;

const text = Type.Union([Type.String(), Type.Null()]);
const number = Type.Union([Type.Number(), Type.Null()]);
const Cap = Type.Union([Type.Object({ amount: Type.Number(), period: Period }), Type.Null()]);

export const Account = Type.Object(
  {
    id: Type.String(),
    version: Type.Integer({ description: 'Grows with every change; the ETag is made of it.' }),
    name: Type.String(),
    external_id: text,
    labels: Type.Record(Type.String(), Type.String()),
    status: Status,
    parent: Type.Union([Type.String(), Type.Null()], {
      description: 'Null for a root, and for the account of an account-admin.',
    }),
    root: Type.String({ description: 'The account that pays; for an account-admin, its own.' }),
    root_name: Type.String({ description: 'What the root is called.' }),
    is_parent: Type.Boolean({ description: 'Whether there are accounts below it.' }),
    ...limitFields,
    credit_cap: Cap,
    token_cap: Cap,
    created_at: Type.String(),
    credit: Type.Union([Type.Number(), Type.Null()], { description: 'Everything bought so far; null below a root.' }),
    balance: number,
    promotional: Type.Optional(Promotional),
    used: Type.Number({ description: 'Credits spent by keys below the account, for ever.' }),
    reserved: Type.Number(),
    credit_used: Type.Number({ description: 'Credits of the present period of the cap; without a cap, for ever.' }),
    tokens_used: Type.Integer({ description: 'Tokens of the present period of the cap; without a cap, for ever.' }),
    tokens_reserved: Type.Integer(),
    live_holds: Type.Integer(),
  },
  { title: 'Account' },
);

/** As `parent`: accounts that have none. */
export const NO_PARENT = 'none';

export const AccountQuery = Type.Object(
  {
    ...pageParameters('accounts'),
    status: Type.Optional(Status),
    parent: Type.Optional(
      Type.String({
        description: `The id of the account that they are directly below; ${NO_PARENT}: only roots; for an account-admin, its own account.`,
      }),
    ),
    below: Type.Optional(
      Type.Enum(['yes', 'no'], { description: 'yes: also accounts further down below `parent`. Default no.' }),
    ),
    search: Type.Optional(
      Type.String({ description: 'A part of the name, the id or the external id, in any case of letters.' }),
    ),
  },
  { title: 'AccountQuery', ...closed },
);

export const AccountList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Account), next_cursor: NextCursor },
  { title: 'AccountList' },
);

export const EraseBody = Type.Object(
  {
    name: Type.String({
      ...OneLine,
      description: 'The name of the account, so that no other one is erased by mistake.',
    }),
  },
  { title: 'AccountErasure', ...closed },
);

export const ErasedAccount = Type.Object(
  {
    id: Type.String(),
    accounts: Type.Integer({
      description: 'How many accounts were closed and have no name any more, with those below it.',
    }),
    keys: Type.Integer({ description: 'How many keys are revoked.' }),
    requests: Type.Integer({
      description: 'How many requests were removed from the log, with what was captured of them.',
    }),
    names_kept: Type.Integer({
      description: 'Keys that were revoked, and accounts that were closed, before: what is final keeps its name.',
    }),
  },
  { title: 'ErasedAccount' },
);

export type AccountView = View<typeof Account>;
