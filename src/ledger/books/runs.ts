/** Runs and their events, the same in both stores. What belongs to a hold is written together with it. */
import { bytes, flag, integer, type Row, text } from '../../storage/columns.ts';
import type { Pruned } from '../operations.ts';
import {
  INPUT_EVENT,
  type NewRun,
  type RunEnd,
  type RunEvents,
  type RunName,
  type RunPage,
  type RunProgress,
  type RunState,
  type RunStatus,
} from '../port.ts';
import type { Reading } from './dialect.ts';
import { query, queryOne, type Work } from './work.ts';

/** Their events are large, so fewer of them are removed at a time than of other rows. */
const PRUNED_MAX = 10;
/** A new run finds what one that has ended since was too much, or what an operator has lowered the limit by: that goes in steps. */
const REMOVED_FOR_ROOM_MAX = 100;
const STATE = 'SELECT id, status, cancelled, last_event, response FROM @runs';

interface OfHold {
  readonly keyId: string;
  readonly id: string;
  readonly claimName: string | null;
}

export function* addRun({ keyId, id: holdId, claimName }: OfHold, run: NewRun): Work<void> {
  yield* makeRoom(keyId, run.keyBytesMax);
  const input = run.input === null ? null : Buffer.from(run.input);
  yield* query(
    `INSERT INTO @runs (key_id, id, hold_id, claim_name, status, response, keep_ms, bytes)
      VALUES ($1, $2, $3, $4, 'in_progress', $5, $6, $7)`,
    keyId,
    run.id,
    holdId,
    claimName,
    run.response,
    run.keepMs,
    input?.length ?? 0,
  );
  if (input !== null) yield* addEvents(keyId, run.id, { first: INPUT_EVENT, last: INPUT_EVENT, frames: input });
}

/** The oldest that have ended leave until the others take no more than this. Nothing is looked at where they do not. */
function* makeRoom(keyId: string, bytesMax: number): Work<void> {
  yield* query(
    `DELETE FROM @runs WHERE key_id = $1 AND id IN (
      SELECT o.id FROM (
        SELECT id, sum(bytes) OVER (ORDER BY expires_at_ms, id DESC) - bytes AS older FROM (
          SELECT id, bytes, expires_at_ms FROM @runs
            WHERE key_id = $1 AND expires_at_ms IS NOT NULL
              AND EXISTS (SELECT 1 FROM @run_bytes WHERE key_id = $1 AND bytes > $2)
            ORDER BY expires_at_ms, id DESC LIMIT ${REMOVED_FOR_ROOM_MAX}) oldest) o
        JOIN @run_bytes b ON b.key_id = $1 WHERE b.bytes - o.older > $2)`,
    keyId,
    bytesMax,
  );
}

type RunId = Pick<RunProgress, 'keyId' | 'id'>;

/** Whoever writes several runs in one transaction writes them in this order, so that nobody waits in a circle. */
export function compareRuns(one: RunId, other: RunId): number {
  if (one.keyId !== other.keyId) return one.keyId < other.keyId ? -1 : 1;
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}

type AppendedState = 'running' | 'cancelled' | 'ended';

export function* appendRuns(runs: readonly RunProgress[]): Work<readonly AppendedState[]> {
  const states = new Map<RunProgress, AppendedState>();
  for (const run of runs.toSorted(compareRuns)) {
    const { keyId, id, events } = run;
    const live = `SELECT cancelled FROM @runs WHERE key_id = $1 AND id = $2 AND expires_at_ms IS NULL`;
    const row = yield* events === null ? queryOne(live, keyId, id) : counted(keyId, id, events);
    if (row !== undefined && events !== null) yield* addEvents(keyId, id, events);
    states.set(run, row === undefined ? 'ended' : flag(row, 'cancelled') ? 'cancelled' : 'running');
  }
  return runs.map((run) => states.get(run) ?? 'ended');
}

/** What was sent before, and taken, counts once. */
function counted(keyId: string, id: string, { last, frames }: RunEvents): Work<Row | undefined> {
  return queryOne(
    `UPDATE @runs SET last_event = CASE WHEN last_event < $3 THEN $3 ELSE last_event END,
        bytes = bytes + CASE WHEN last_event < $3 THEN $4 ELSE 0 END
      WHERE key_id = $1 AND id = $2 AND expires_at_ms IS NULL RETURNING cancelled`,
    keyId,
    id,
    last,
    frames.length,
  );
}

function* addEvents(keyId: string, id: string, { first, last, frames }: RunEvents): Work<void> {
  yield* query(
    `INSERT INTO @run_events (key_id, run_id, first_event, last_event, frames) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (key_id, run_id, first_event) DO NOTHING`,
    keyId,
    id,
    first,
    last,
    frames,
  );
}

export function* endRun(keyId: string, { id, status, events }: RunEnd, nowMs: number): Work<null> {
  for (const each of events) {
    if ((yield* counted(keyId, id, each)) === undefined) return null;
    yield* addEvents(keyId, id, each);
  }
  yield* query(
    `UPDATE @runs SET status = $3, expires_at_ms = $4 + keep_ms
      WHERE key_id = $1 AND id = $2 AND expires_at_ms IS NULL`,
    keyId,
    id,
    status,
    nowMs,
  );
  return null;
}

export function* findRun(keyId: string, name: RunName, nowMs: number): Work<RunState | null> {
  const [column, value] = 'id' in name ? ['id', name.id] : ['claim_name', name.claim];
  const row = yield* queryOne(
    `${STATE} WHERE key_id = $1 AND ${column} = $2 AND (expires_at_ms IS NULL OR expires_at_ms > $3)
      ORDER BY expires_at_ms IS NULL DESC, expires_at_ms DESC LIMIT 1`,
    keyId,
    value,
    nowMs,
  );
  return row === undefined ? null : stateFrom(row);
}

export function* readRun(keyId: string, id: string, after: number, bytesMax: number): Work<RunPage | null> {
  const run = yield* queryOne('SELECT status, last_event FROM @runs WHERE key_id = $1 AND id = $2', keyId, id);
  if (run === undefined) return null;
  const found: RunEvents[] = [];
  let size = 0;
  let behind = after;
  while (size < bytesMax) {
    const row = yield* queryOne(
      `SELECT first_event, last_event, frames FROM @run_events
        WHERE key_id = $1 AND run_id = $2 AND last_event > $3 ORDER BY first_event LIMIT 1`,
      keyId,
      id,
      behind,
    );
    if (row === undefined) break;
    const frames = bytes(row, 'frames');
    found.push({ first: integer(row, 'first_event'), last: integer(row, 'last_event'), frames });
    behind = integer(row, 'last_event');
    size += frames.length;
  }
  return { status: text(run, 'status') as RunStatus, lastEvent: integer(run, 'last_event'), events: found };
}

export function* cancelRun(keyId: string, id: string, nowMs: number): Work<RunState | null> {
  yield* query(`UPDATE @runs SET cancelled = TRUE WHERE key_id = $1 AND id = $2 AND expires_at_ms IS NULL`, keyId, id);
  return yield* findRun(keyId, { id }, nowMs);
}

/** A live one stays. */
export function* deleteRun(keyId: string, id: string): Work<{ readonly kind: 'deleted' | 'unknown' }> {
  const rows = yield* query(
    'DELETE FROM @runs WHERE key_id = $1 AND id = $2 AND expires_at_ms IS NOT NULL RETURNING id',
    keyId,
    id,
  );
  return { kind: rows.length > 0 ? 'deleted' : 'unknown' };
}

/** Those whose hold has ended without them: with it, their gateway has died. Key by key: a batch may have its keys in another order. */
export function* loseRuns(nowMs: number): Work<void> {
  const lost = `r.expires_at_ms IS NULL AND NOT EXISTS (SELECT 1 FROM @holds h WHERE h.key_id = r.key_id AND h.id = r.hold_id)`;
  for (;;) {
    const rows = yield* query(
      `UPDATE @runs AS r SET status = 'lost', expires_at_ms = $1 + keep_ms
        WHERE ${lost} AND r.key_id = (SELECT r.key_id FROM @runs r WHERE ${lost} LIMIT 1) RETURNING id`,
      nowMs,
    );
    if (rows.length === 0) return;
  }
}

/** Those that have expired, and those of keys that were revoked. */
export function* pruneRuns({ dialect, nowMs }: Reading): Work<Pruned> {
  const rows = yield* query(
    `DELETE FROM @runs WHERE (key_id, id) IN (
      SELECT r.key_id, r.id FROM @runs r JOIN @keys k ON k.key_id = r.key_id JOIN @run_bytes b ON b.key_id = r.key_id
        WHERE r.expires_at_ms <= $1 OR (r.expires_at_ms IS NOT NULL AND k.status = 'revoked')
        LIMIT ${PRUNED_MAX} ${dialect.unlocked('b', 'r')}) RETURNING id`,
    nowMs,
  );
  return { removed: rows.length, more: rows.length === PRUNED_MAX };
}

function stateFrom(row: Row): RunState {
  return {
    id: text(row, 'id'),
    status: text(row, 'status') as RunStatus,
    cancelled: flag(row, 'cancelled'),
    lastEvent: integer(row, 'last_event'),
    response: text(row, 'response'),
  };
}
