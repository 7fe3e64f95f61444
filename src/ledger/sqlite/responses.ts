/** Responses that are kept for their keys: written with the settlement, read when a request refers to them. */
import { integer, text } from '../../storage/columns.ts';
import type { Outcome, Pruned } from '../operations.ts';
import type { ChainOutcome, ItemsOutcome, KeptResponse, Renewal, StoredResponse } from '../port.ts';
import {
  chainOf,
  type FoundLink,
  linkFrom,
  PRUNED_RESPONSES_MAX,
  RENEWALS_PER_LIFETIME,
  responseBytes,
} from '../rules/stored-responses.ts';
import type { ColdStatements } from './statements.ts';

/** How many of the oldest are looked at together when there has to be room. */
const OLDEST_AT_ONCE = 50;

export function keepResponse(sql: ColdStatements, keyId: string, kept: KeptResponse, nowMs: number): void {
  const bytes = responseBytes(kept);
  sql('DELETE FROM responses WHERE key_id = ? AND id = ?').run(keyId, kept.id);
  makeRoom(sql, keyId, kept.keyBytesMax - bytes);
  const { lastInsertRowid } = sql(`
    INSERT INTO responses (key_id, id, parent_id, expires_at_ms, bytes, input, output, response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`).run(
    keyId,
    kept.id,
    kept.parentId,
    nowMs + kept.keepMs,
    bytes,
    kept.input,
    kept.output,
    kept.response,
  );
  const addItem = sql(`INSERT INTO response_items (key_id, item_id, response_number) VALUES (?, ?, ?)
    ON CONFLICT (key_id, item_id) DO UPDATE SET response_number = excluded.response_number`);
  for (const itemId of kept.itemIds) addItem.run(keyId, itemId, lastInsertRowid);
}

/** The oldest leave until the rest takes no more than this. */
function makeRoom(sql: ColdStatements, keyId: string, bytesMax: number): void {
  for (;;) {
    const sum = sql('SELECT bytes FROM response_bytes WHERE key_id = ?').get(keyId);
    let excess = (sum === undefined ? 0 : integer(sum, 'bytes')) - bytesMax;
    if (excess <= 0) return;
    const oldest = sql(`SELECT number, bytes FROM responses WHERE key_id = ?
      ORDER BY expires_at_ms, number LIMIT ${OLDEST_AT_ONCE}`).all(keyId);
    if (oldest.length === 0) return;
    for (const row of oldest) {
      if (excess <= 0) return;
      sql('DELETE FROM responses WHERE number = ?').run(integer(row, 'number'));
      excess -= integer(row, 'bytes');
    }
  }
}

export function getResponse(sql: ColdStatements, keyId: string, id: string, nowMs: number): StoredResponse | null {
  const row = sql(`SELECT id, parent_id, input, output, response FROM responses
    WHERE key_id = ? AND id = ? AND expires_at_ms > ? AND input IS NOT NULL`).get(keyId, id, nowMs);
  return row === undefined ? null : { ...linkFrom(row), response: text(row, 'response') };
}

export function findChain(sql: ColdStatements, id: string, renewal: Renewal, nowMs: number): ChainOutcome {
  const { keyId, bytesMax } = renewal;
  const find = sql(`SELECT number, id, parent_id, input, output FROM responses
    WHERE key_id = ? AND id = ? AND expires_at_ms > ?`);
  const links: FoundLink[] = [];
  const seen = new Set<string>();
  const numbers: number[] = [];
  let bytes = 0;
  let next: string | null = id;
  while (next !== null && !seen.has(next) && bytes <= bytesMax) {
    const row = find.get(keyId, next, nowMs);
    if (row === undefined) break;
    const link = linkFrom(row);
    links.push(link);
    seen.add(next);
    numbers.push(integer(row, 'number'));
    bytes += Buffer.byteLength(link.input ?? '') + Buffer.byteLength(link.output);
    next = link.parentId;
  }
  renew(sql, numbers, renewal, nowMs);
  return chainOf(id, links, bytesMax);
}

export function findItems(
  sql: ColdStatements,
  itemIds: readonly string[],
  renewal: Renewal,
  nowMs: number,
): ItemsOutcome {
  const { keyId, bytesMax } = renewal;
  const find = sql('SELECT response_number FROM response_items WHERE key_id = ? AND item_id = ?');
  const numbers = new Set<number>();
  for (const itemId of itemIds) {
    const row = find.get(keyId, itemId);
    if (row !== undefined) numbers.add(integer(row, 'response_number'));
  }
  const outputs: string[] = [];
  let bytes = 0;
  for (const number of numbers) {
    const row = sql('SELECT output FROM responses WHERE number = ? AND expires_at_ms > ?').get(number, nowMs);
    if (row === undefined) continue;
    const output = text(row, 'output');
    bytes += Buffer.byteLength(output);
    if (bytes > bytesMax) return { kind: 'too_large' };
    outputs.push(output);
  }
  renew(sql, numbers, renewal, nowMs);
  return { kind: 'items', outputs };
}

export function deleteResponse(
  sql: ColdStatements,
  keyId: string,
  id: string,
  nowMs: number,
): Outcome<'deleteResponse'> {
  const { changes } = sql('DELETE FROM responses WHERE key_id = ? AND id = ? AND expires_at_ms > ?').run(
    keyId,
    id,
    nowMs,
  );
  return Number(changes) === 1 ? { kind: 'deleted' } : { kind: 'unknown' };
}

/** Those that have expired, and those of keys that were revoked. */
export function pruneResponses(sql: ColdStatements, nowMs: number): Pruned {
  const limit = PRUNED_RESPONSES_MAX;
  const expired = sql(`DELETE FROM responses WHERE number IN (
    SELECT number FROM responses WHERE expires_at_ms <= ? LIMIT ?)`).run(nowMs, limit);
  const ofRevoked = sql(`DELETE FROM responses WHERE number IN (
    SELECT r.number FROM response_bytes b JOIN keys k ON k.id = b.key_id AND k.status = 'revoked'
      JOIN responses r ON r.key_id = b.key_id WHERE b.bytes > 0 LIMIT ?)`).run(limit);
  const removed = [Number(expired.changes), Number(ofRevoked.changes)];
  return { removed: removed.reduce((sum, rows) => sum + rows, 0), more: removed.some((rows) => rows >= limit) };
}

function renew(sql: ColdStatements, numbers: Iterable<number>, { keepMs }: Renewal, nowMs: number): void {
  const update = sql('UPDATE responses SET expires_at_ms = ? WHERE number = ? AND expires_at_ms < ?');
  const untilMs = nowMs + keepMs;
  for (const number of numbers) update.run(untilMs, number, untilMs - Math.trunc(keepMs / RENEWALS_PER_LIFETIME));
}
