/** What is read from the file, and removed from it. Called on the log's own thread, or by the command line. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { capturedIn } from '../captured.ts';
import { entryIn, type RequestEntry } from '../entry.ts';
import { type Dialect, filtersOf } from '../filters.ts';
import {
  ANY_CONDITION,
  type CapturedContent,
  type Forgotten,
  idAt,
  type RequestPage,
  type RequestQuery,
  type RequestTail,
  type Retention,
  SCANNED_ROWS,
  scan,
  TAIL_ROWS,
} from '../store.ts';

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

const DIALECT: Dialect = {
  placeIn: 'instr',
  detail: 'detail',
  elements: (json) => `json_each(${json}) AS element`,
  oneOf: (column, values, value) => `${column} IN (SELECT value FROM json_each(${value(JSON.stringify(values))}))`,
};

export function listRequests(database: DatabaseSync, query: RequestQuery): Promise<RequestPage> {
  const values: SQLInputValue[] = [];
  const filters = filtersOf(query, DIALECT, (given) => {
    values.push(given);
    return '?';
  });
  const named = query.condition == null || query.condition === ANY_CONDITION ? [] : [query.condition];
  const failed = query.condition == null ? '' : `condition ${named.length === 0 ? 'IS NOT NULL' : '= ?'} AND `;
  const scanned = `FROM requests WHERE ${failed}id < ? AND id >= ? ORDER BY id DESC LIMIT ${SCANNED_ROWS}`;
  const rows = database.prepare(`SELECT * FROM (SELECT * ${scanned}) WHERE ${filters} LIMIT ?`);
  const last = database.prepare(`SELECT min(id) AS id, count(*) AS rows FROM (SELECT id ${scanned})`);
  return scan(query, async (before, room) => {
    const from = query.sinceMs == null ? '' : idAt(query.sinceMs);
    const range: SQLInputValue[] = [...named, before ?? NEWEST, from];
    return {
      entries: rows.all(...range, ...values, room).map(entryIn),
      last: () => {
        const end = last.get(...range);
        return Number(end?.rows) === SCANNED_ROWS ? String(end?.id) : null;
      },
    };
  });
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

export function forgetRequests(database: DatabaseSync, keyIds: readonly string[], after: string | null): Forgotten {
  const from = after ?? '';
  const end = database
    .prepare(
      `SELECT max(id) AS id, count(*) AS rows FROM (SELECT id FROM requests WHERE id > ? ORDER BY id LIMIT ${SCANNED_ROWS})`,
    )
    .get(from);
  if (end?.id == null) return { removed: 0, next: null };
  const theirs = 'FROM requests WHERE id > ? AND id <= ? AND key_id IN (SELECT value FROM json_each(?))';
  const range = [from, end.id, JSON.stringify(keyIds)];
  database.prepare(`DELETE FROM captures WHERE id IN (SELECT id ${theirs})`).run(...range);
  const { changes } = database.prepare(`DELETE ${theirs}`).run(...range);
  return { removed: Number(changes), next: Number(end.rows) === SCANNED_ROWS ? String(end.id) : null };
}

/** One step; whether there is more to do. At the end of the last one, the write-ahead log is written back. */
export function pruneRequests(database: DatabaseSync, retention: Retention, nowMs: number): boolean {
  const more = removeRequests(database, retention, nowMs);
  if (!more) database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  return more;
}

function removeRequests(database: DatabaseSync, { keepMs, maxBytes }: Retention, nowMs: number): boolean {
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
