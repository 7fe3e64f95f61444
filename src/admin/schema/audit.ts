import { Type } from '../../lib/schema-builder.ts';

export const Audit = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether every balance equals the sum of its entries.' }),
    keys: Type.Integer(),
    entries: Type.Integer(),
    live_holds: Type.Integer(),
    flagged: Type.Integer({ description: 'Charges that an operator should look at.' }),
    findings: Type.Array(Type.String()),
  },
  { title: 'Audit' },
);
