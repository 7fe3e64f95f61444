/**
 * The request bodies of the admin API, one schema per operation. `expected` is what an error message says after
 * "must be". The command line sends numbers as strings, so both are accepted.
 */
import type { Static } from 'typebox';
import { AMOUNT_MAX, creditsFromNanos } from '../core/money.ts';
import { Type } from '../lib/schema-builder.ts';

const TEXT_MAX = 200;
const MODELS_MAX = 1_000;
export const RPM_MAX = 1_000_000;

const closed = { additionalProperties: false };
const Digits = Type.String({ pattern: '^[0-9]{1,16}$' });
/** Shown in terminals and logs: no control characters, no line breaks. */
const OneLine = Type.String({
  pattern: `^[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,${TEXT_MAX}}$`,
  expected: `one line of 1 to ${TEXT_MAX} characters`,
});
const Credits = Type.Union([Type.String(), Type.Number()], {
  expected: `a decimal number of credits from 0 to ${Math.floor(creditsFromNanos(AMOUNT_MAX))}, at most 9 decimals`,
  description: 'Decimal credits. A string is read exactly, a number by its shortest decimal form.',
});

/** What can be set when a key is created and changed later. */
const keySettings = {
  label: Type.Optional(Type.Union([OneLine, Type.Literal(''), Type.Null()])),
  provider_scope: Type.Optional(
    Type.String({
      pattern: `^[^\\p{Cc}\\p{Zl}\\p{Zp}\\s]{1,${TEXT_MAX}}$`,
      expected: 'the name of one provider, or "all"',
    }),
  ),
  models: Type.Optional(
    Type.Union([Type.Array(OneLine, { minItems: 1, maxItems: MODELS_MAX }), Type.Literal('all'), Type.Null()], {
      expected: `a list of 1 to ${MODELS_MAX} model ids, none of them empty, or "all"`,
      description: '"all" and null: every model of the provider scope.',
    }),
  ),
  rpm_limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: RPM_MAX }), Digits, Type.Literal('none'), Type.Null()], {
      expected: `a whole number from 1 to ${RPM_MAX}, or "none"`,
      description: 'Requests per minute.',
    }),
  ),
  expires_at: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      expected: 'a time like 2030-01-31T12:00:00Z or a date like 2030-01-31 (UTC), or "never"',
      description: 'ISO 8601; UTC where no zone is given.',
    }),
  ),
  budget: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0 }), Digits, Type.Literal('unlimited'), Type.Null()], {
      expected: 'a whole number of tokens from 0 up, or "unlimited"',
      description: 'Tokens per period, for token_budget keys.',
    }),
  ),
  period: Type.Optional(Type.Enum(['day', 'week', 'month', 'none'])),
};

export const NewKeyBody = Type.Object(
  { mode: Type.Enum(['credit', 'token_budget']), credit: Type.Optional(Credits), ...keySettings },
  closed,
);

export const KeyChangeBody = Type.Object(
  { status: Type.Optional(Type.Enum(['active', 'suspended', 'disabled', 'revoked'])), ...keySettings },
  closed,
);

export const CreditBody = Type.Object(
  {
    amount: Credits,
    note: Type.Optional(Type.Union([OneLine, Type.Null()])),
    entry_id: Type.Optional(
      Type.String({ ...OneLine, description: 'Names the purchase: sent again with the same id, it is booked once.' }),
    ),
  },
  closed,
);

export type KeySettings = Omit<Static<typeof KeyChangeBody>, 'status'>;
