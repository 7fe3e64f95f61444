/** Named documents that all gateways on the store share. */
import { integer, text } from '../../storage/columns.ts';
import type { StoredDocument } from '../port.ts';
import { query, queryOne, type Work } from './work.ts';

export function* getDocument(name: string): Work<StoredDocument | null> {
  const row = yield* queryOne('SELECT value, at_ms FROM @documents WHERE name = $1', name);
  return row === undefined ? null : { value: text(row, 'value'), atMs: integer(row, 'at_ms') };
}

export function* putDocument(name: string, value: string, nowMs: number): Work<null> {
  yield* query(
    `INSERT INTO @documents (name, value, at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET value = $2, at_ms = $3`,
    name,
    value,
    nowMs,
  );
  return null;
}
