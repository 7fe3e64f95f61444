/** Named documents that all gateways on the database share. */

import { integer, text } from '../../storage/columns.ts';
import type { StoredDocument } from '../port.ts';
import type { Work } from './keys.ts';

export async function getDocument({ query }: Work, name: string): Promise<StoredDocument | null> {
  const [row] = await query('SELECT value, at_ms FROM gateway.documents WHERE name = $1', [name]);
  return row === undefined ? null : { value: text(row, 'value'), atMs: integer(row, 'at_ms') };
}

export async function putDocument({ query, nowMs }: Work, name: string, value: string): Promise<null> {
  await query(
    `INSERT INTO gateway.documents (name, value, at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET value = $2, at_ms = $3`,
    [name, value, nowMs],
  );
  return null;
}
