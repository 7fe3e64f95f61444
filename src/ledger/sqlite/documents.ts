/** Named documents that all gateways on the store share. */

import { integer, text } from '../../storage/columns.ts';
import type { StoredDocument } from '../port.ts';
import type { ColdStatements } from './statements.ts';

export function getDocument(sql: ColdStatements, name: string): StoredDocument | null {
  const row = sql('SELECT value, at_ms FROM documents WHERE name = ?').get(name);
  return row === undefined ? null : { value: text(row, 'value'), atMs: integer(row, 'at_ms') };
}

export function putDocument(sql: ColdStatements, name: string, value: string, nowMs: number): null {
  sql(`INSERT INTO documents (name, value, at_ms) VALUES (?1, ?2, ?3)
    ON CONFLICT (name) DO UPDATE SET value = ?2, at_ms = ?3`).run(name, value, nowMs);
  return null;
}
