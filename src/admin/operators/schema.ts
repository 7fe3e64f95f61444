/** Operators, their tokens and their sign-in links, as the API takes and gives them. */

import { Type } from '../../lib/schema-builder.ts';
import { ROLES } from '../../operators/port.ts';
import type { View } from '../http/view.ts';

const closed = { additionalProperties: false };
const nullableText = Type.Union([Type.String(), Type.Null()]);

const Name = Type.String({
  pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N} ._@+-]{0,99}$',
  expected: 'a name of 1 to 100 letters, digits, spaces and . _ @ + -, that begins with a letter or digit',
});
const Account = Type.Optional(
  Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Null()], {
    expected: 'the id of an account',
    description: 'The top of the subtree of an account-admin; the other roles have none.',
  }),
);
const Expiry = Type.Optional(
  Type.String({
    expected: 'a time like 2030-01-31T12:00:00Z or a date like 2030-01-31 (UTC), at most a year from now',
    description: 'When the token expires; 90 days from now where it is absent.',
  }),
);
const Label = Type.Optional(
  Type.Union([Type.String({ pattern: '^[^\\p{Cc}\\p{Zl}\\p{Zp}]{1,200}$' }), Type.Null()], {
    expected: 'one line of 1 to 200 characters',
  }),
);

export const NewOperatorBody = Type.Object(
  { name: Name, role: Type.Enum([...ROLES]), account_id: Account, expires_at: Expiry },
  { title: 'NewOperator', ...closed },
);

export const OperatorChangeBody = Type.Object(
  { role: Type.Enum([...ROLES]), account_id: Account },
  { title: 'OperatorChange', ...closed },
);

export const NewTokenBody = Type.Object({ expires_at: Expiry, label: Label }, { title: 'NewOperatorToken', ...closed });

const OperatorToken = Type.Object(
  {
    id: Type.String(),
    label: nullableText,
    status: Type.Enum(['active', 'expired', 'revoked']),
    created_at: Type.String(),
    expires_at: Type.String(),
  },
  { title: 'OperatorToken' },
);

const operatorFields = {
  id: Type.String(),
  name: Type.String(),
  role: Type.Enum([...ROLES]),
  account_id: nullableText,
  status: Type.Enum(['active', 'revoked']),
  built_in: Type.Boolean({ description: 'The owner that the admin secret and the Unix socket act as.' }),
  created_at: nullableText,
};

export const Operator = Type.Object({ ...operatorFields, tokens: Type.Array(OperatorToken) }, { title: 'Operator' });

export const OperatorList = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(Type.Object(operatorFields, { title: 'ListedOperator' })) },
  { title: 'OperatorList' },
);

export const IssuedToken = Type.Object(
  {
    token: Type.String({ description: 'The token itself. It is shown once, here, and stored nowhere.' }),
    token_id: Type.String(),
    expires_at: Type.String(),
    operator: Type.Object(operatorFields, { title: 'ListedOperator' }),
  },
  { title: 'IssuedOperatorToken' },
);

export const SignInLink = Type.Object(
  {
    url: Type.String({ description: 'Opens the console and signs in, once. The token is in the fragment.' }),
    expires_at: Type.String(),
    certificate_sha256: Type.Union([Type.String(), Type.Null()], {
      description:
        'The fingerprint of a certificate that the gateway made itself, to compare with what the browser shows.',
    }),
  },
  { title: 'SignInLink' },
);

export type OperatorView = View<typeof Operator>;
export type ListedOperatorView = View<typeof OperatorList>['data'][number];
export type IssuedTokenView = View<typeof IssuedToken>;
export type SignInLinkView = View<typeof SignInLink>;
