import { Type } from '../../lib/schema-builder.ts';

export const Promotional = Type.Object(
  {
    left: Type.Number(),
    next_amount: Type.Number({ description: 'What is left of the credit that expires next.' }),
    next_expires_at: Type.String(),
  },
  {
    title: 'Promotional',
    description:
      'The part of the balance that expires, where there is one; of a key or root that is asked for by its id.',
  },
);
