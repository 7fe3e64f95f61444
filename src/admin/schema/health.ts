import { Type } from '../../lib/schema-builder.ts';

export const Health = Type.Object({ ok: Type.Boolean(), pid: Type.Integer() }, { title: 'Health' });
