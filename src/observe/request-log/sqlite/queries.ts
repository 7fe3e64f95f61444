/** What is read from the file, and removed from it. Called on the log's own thread, or by the command line. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { capturedIn } from '../captured.ts';
import { ATTEMPTS_AT, CLIENT_REQUEST_ID_AT, entryIn, FORMAT_AT, PROVIDER_AT, type RequestEntry } from '../entry.ts';
import {
  type CapturedContent,
  endOf,
  idAt,
  type RequestPage,
  type RequestQuery,
  type RequestTail,
  type Retention,
} from '../store.ts';

/** How many rows are looked at between two looks at the clock. */
const SCANNED_ROWS = 20_000;
const SCAN_MS = 2_000;
const TAIL_ROWS = 1_000;
/** A step takes a few milliseconds, in which a batch of the log may have to wait. */
const PRUNED_ROWS = 500;
const PRUNED_CAPTURES = 20;
/** After every id: it sorts behind all digits. */
const NEWEST = 'req_~';

export function findRequest(database: DatabaseSync, id: string): RequestEntry | null {
  const row = database.prepare('SELECT * FROM requests WHERE id = ?').get(id);
  return row === undefined ? null : entryIn(row);
}

export function findCaptured(database: DatabaseSync, id: string, nowMs: number): CapturedContent | null {
  const row = database.prepare('SELECT * FROM captures WHERE id = ? AND expires_at_ms > ?').get(id, nowMs);
  return row === undefined ? null : capturedIn(row);
}

/** A search that finds little ends after a while, with what it has found and where to go on. */
export function listRequests(database: DatabaseSync, query: RequestQuery): RequestPage {
  const { sql, values } = conditionsOf(query);
  const from = query.sinceMs == null ? '' : idAt(query.sinceMs);
  const failed = query.condition == null ? '' : 'condition = ? AND ';
  const scanned = `FROM requests WHERE ${failed}id < ? AND id >= ? ORDER BY id DESC LIMIT ${SCANNED_ROWS}`;
  const rows = database.prepare(`SELECT * FROM (SELECT * ${scanned}) WHERE ${sql} LIMIT ?`);
  const last = database.prepare(`SELECT min(id) AS id, count(*) AS rows FROM (SELECT id ${scanned})`);
  const entries: RequestEntry[] = [];
  let before = endOf(query) ?? NEWEST;
  for (const untilMs = performance.now() + SCAN_MS; ; ) {
    const range: SQLInputValue[] = [...(query.condition == null ? [] : [query.condition]), before, from];
    const room = query.limit - entries.length;
    for (const row of rows.all(...range, ...values, room)) entries.push(entryIn(row));
    const found = entries.at(-1);
    if (entries.length >= query.limit && found) return { entries, next: found.id };
    const end = last.get(...range);
    if (Number(end?.rows ?? 0) < SCANNED_ROWS) return { entries, next: null };
    before = String(end?.id);
    if (performance.now() > untilMs) return { entries, next: before };
  }
}

function conditionsOf(query: RequestQuery): { readonly sql: string; readonly values: SQLInputValue[] } {
  const parts: string[] = [];
  const values: SQLInputValue[] = [];
  const where = (sql: string, ...given: SQLInputValue[]): void => {
    parts.push(sql);
    values.push(...given);
  };
  if (query.keyId != null) where('key_id = ?', query.keyId);
  if (query.keyIds != null) where('key_id IN (SELECT value FROM json_each(?))', JSON.stringify(query.keyIds));
  if (query.model != null) where('model = ?', query.model);
  if (query.provider != null) {
    const attempts = `json_each(detail, '$[${ATTEMPTS_AT}]') AS attempt`;
    where(
      `EXISTS (SELECT 1 FROM ${attempts} WHERE json_extract(attempt.value, '$[${PROVIDER_AT}]') = ?)`,
      query.provider,
    );
  }
  if (query.format != null) where(`json_extract(detail, '$[${FORMAT_AT}]') = ?`, query.format);
  if (query.clientRequestId != null) {
    where(`json_extract(detail, '$[${CLIENT_REQUEST_ID_AT}]') = ?`, query.clientRequestId);
  }
  if (query.status != null) where('status BETWEEN ? AND ?', query.status.from, query.status.to);
  if (query.slowerThanMs != null) where('duration_ms > ?', query.slowerThanMs);
  if (query.costlierThanNanos != null) where('cost_nanos > ?', query.costlierThanNanos);
  return { sql: parts.length === 0 ? 'true' : parts.join(' AND '), values };
}

export function tailRequests(database: DatabaseSync, position: string | null, newest?: number): RequestTail {
  if (position === null) return { entries: [], position: lastNumber(database) };
  const [direction, limit] = newest === undefined ? ['ASC', TAIL_ROWS] : ['DESC', newest];
  const rows = database.prepare(`SELECT * FROM requests WHERE seq > ? ORDER BY seq ${direction} LIMIT ?`);
  const found = rows.all(BigInt(position), limit);
  if (newest !== undefined) found.reverse();
  // The numbers begin anew in a file that has taken the place of another, or of which everything was removed.
  if (found.length === 0 && BigInt(lastNumber(database)) < BigInt(position)) return tailRequests(database, '0', newest);
  return { entries: found.map(entryIn), position: String(found.at(-1)?.seq ?? position) };
}

function lastNumber(database: DatabaseSync): string {
  const last = database.prepare('SELECT coalesce(max(seq), 0) AS seq FROM requests').get();
  return String(last?.seq ?? 0);
}

/** One step; whether there is more to do. */
export function pruneRequests(database: DatabaseSync, { keepMs, maxBytes }: Retention, nowMs: number): boolean {
  const expired = database
    .prepare(
      `DELETE FROM captures WHERE id IN (SELECT id FROM captures WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ${PRUNED_CAPTURES})`,
    )
    .run(nowMs).changes;
  if (Number(expired) === PRUNED_CAPTURES) return true;
  const oldest = `SELECT seq FROM requests`;
  const old = database
    .prepare(`DELETE FROM requests WHERE seq IN (${oldest} WHERE id < ? ORDER BY id LIMIT ${PRUNED_ROWS})`)
    .run(idAt(nowMs - keepMs)).changes;
  if (Number(old) === PRUNED_ROWS) return true;
  if (usedBytes(database) <= maxBytes) return false;
  // Content is the larger part where there is some, and its loss the smaller one.
  const contents = database
    .prepare(`DELETE FROM captures WHERE id IN (SELECT id FROM captures ORDER BY id LIMIT ${PRUNED_CAPTURES})`)
    .run().changes;
  if (Number(contents) > 0) return true;
  const over = database
    .prepare(`DELETE FROM requests WHERE seq IN (${oldest} ORDER BY seq LIMIT ${PRUNED_ROWS})`)
    .run();
  return Number(over.changes) === PRUNED_ROWS;
}

/** Without the room that what was removed has left in the file. */
export function usedBytes(database: DatabaseSync): number {
  const figure = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  return (figure('page_count') - figure('freelist_count')) * figure('page_size');
}
