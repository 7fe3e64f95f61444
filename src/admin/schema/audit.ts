import { Type } from '../../lib/schema-builder.ts';

const FIGURES = {
  ok: Type.Boolean({ description: 'Whether every balance equals the sum of its entries.' }),
  keys: Type.Integer(),
  entries: Type.Integer(),
  live_holds: Type.Integer(),
  flagged: Type.Integer({ description: 'Charges that an operator should look at.' }),
  findings: Type.Array(Type.String()),
};

export const Audit = Type.Object(FIGURES, { title: 'Audit' });

export const LastAudit = Type.Object(
  {
    every_hours: Type.Union([Type.Number(), Type.Null()], {
      description: 'How often the gateway runs an audit by itself; null: never.',
    }),
    last: Type.Union([Type.Object({ at: Type.String(), ...FIGURES, finding_count: Type.Integer() }), Type.Null()], {
      description:
        'The last audit on this store, scheduled or on request; null: none yet. `findings` has the first of `finding_count`.',
    }),
  },
  { title: 'LastAudit' },
);
