import { Type } from '../../lib/schema-builder.ts';
import { ROLES } from '../../operators/port.ts';

export const SignInBody = Type.Object(
  {
    token: Type.String({
      minLength: 1,
      maxLength: 200,
      expected: 'a sign-in token or an operator token',
      description: 'The token of a sign-in link, which is then used up, or an operator token.',
    }),
  },
  { title: 'SignIn', additionalProperties: false },
);

export const Session = Type.Object(
  {
    operator: Type.Object({
      id: Type.String(),
      name: Type.String(),
      role: Type.Enum([...ROLES]),
      account_id: Type.Union([Type.String(), Type.Null()], { description: 'The account of an account-admin.' }),
    }),
    csrf_token: Type.Union([Type.String(), Type.Null()], {
      description: 'To be sent as x-csrf-token with every request of the session that is not GET or HEAD.',
    }),
    expires_at: Type.Union([Type.String(), Type.Null()], { description: 'Null where the caller has no session.' }),
  },
  { title: 'Session' },
);

export const SignedOut = Type.Object({ ended: Type.Integer() }, { title: 'SignedOut' });

export const SignInWays = Type.Object({ oidc: Type.Boolean() }, { title: 'SignInWays' });
