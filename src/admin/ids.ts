import { randomBytes } from 'node:crypto';

/** A new id that says what it is of. */
export function newId(kind: 'key' | 'credit' | 'acct' | 'transfer' | 'refund' | 'correction'): string {
  return `${kind}_${randomBytes(10).toString('hex')}`;
}
