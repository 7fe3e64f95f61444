/** The reader of the request log in PostgreSQL, with what all gateways on the database have written. */
import { changeFailures, readFailures } from '../../failures/postgres.ts';
import type { FailureQuery, FailureReport, KeyChange } from '../../failures/store.ts';
import { capturedIn } from '../captured.ts';
import { entryIn, type RequestEntry } from '../entry.ts';
import { type Dialect, filtersOf, type Value } from '../filters.ts';
import {
  ANY_CONDITION,
  type CapturedContent,
  type Forgotten,
  idAt,
  type RequestLogReader,
  type RequestPage,
  type RequestQuery,
  type RequestTail,
  type Retention,
  SCANNED_ROWS,
  scan,
  TAIL_ROWS,
} from '../store.ts';
import { dayAt, dayOf, LogDatabase } from './database.ts';
import { LogPruning, logBytes } from './pruning.ts';

const ID = /^req_[0-9a-f]{32}$/;

export class PostgresRequestReader implements RequestLogReader {
  readonly #database: LogDatabase;
  readonly #pruning: LogPruning;

  constructor(url: string) {
    this.#database = new LogDatabase(url);
    this.#pruning = new LogPruning(this.#database);
  }

  async find(id: string): Promise<RequestEntry | null> {
    if (!ID.test(id)) return null;
    const [row] = await this.#database.query('SELECT * FROM gateway.request_log WHERE day = $1 AND id = $2', [
      dayOf(id),
      id,
    ]);
    return row === undefined ? null : entryIn(row);
  }

  async captured(id: string): Promise<CapturedContent | null> {
    const [row] = await this.#database.query(
      'SELECT * FROM gateway.request_captures WHERE id = $1 AND expires_at_ms > $2',
      [id, Date.now()],
    );
    return row === undefined ? null : capturedIn(row);
  }

  list(query: RequestQuery): Promise<RequestPage> {
    return scan(query, async (before, room) => {
      const values: unknown[] = [];
      const value: Value = (given) => `$${values.push(given)}`;
      const scanned = `FROM gateway.request_log WHERE ${rangeOf(query, before, value)}
        ORDER BY day DESC, id DESC LIMIT ${SCANNED_ROWS}`;
      // The filters are applied to what is scanned, so that a search that finds little ends all the same.
      const rows = await this.#database.query(
        `WITH scanned AS (SELECT * ${scanned}), bounds AS (SELECT min(id) AS last_id, count(*)::int AS rows FROM scanned)
         SELECT scanned.*, bounds.last_id, bounds.rows FROM bounds
         LEFT JOIN LATERAL (SELECT * FROM scanned WHERE ${filtersOf(query, DIALECT, value)} ORDER BY id DESC LIMIT ${room}) scanned ON true`,
        values,
      );
      const [bounds] = rows;
      return {
        entries: rows.filter(({ id }) => id !== null).map(entryIn),
        last: () => (Number(bounds?.rows) === SCANNED_ROWS ? String(bounds?.last_id) : null),
      };
    });
  }

  /** Only what is a second old: of those that commit at the same time, an earlier one may be seen later. */
  async tail(position: string | null, newest?: number): Promise<RequestTail> {
    if (position === null) {
      const [newest] = await this.#database.query('SELECT coalesce(max(seq), 0)::text AS seq FROM gateway.request_log');
      return { entries: [], position: String(newest?.seq ?? 0) };
    }
    const found = await this.#database.query(
      `SELECT * FROM gateway.request_log WHERE seq > $1 AND stored_at < now() - interval '1 second'
       ORDER BY seq ${newest === undefined ? 'ASC' : 'DESC'} LIMIT $2`,
      [position, newest ?? TAIL_ROWS],
    );
    const rows = newest === undefined ? found : found.toReversed();
    return { entries: rows.map(entryIn), position: String(rows.at(-1)?.seq ?? position) };
  }

  async forget(keyIds: readonly string[], after: string | null): Promise<Forgotten> {
    const values: unknown[] = [];
    const value: Value = (given) => `$${values.push(given)}`;
    const from = after === null ? 'true' : `id > ${value(after)} AND day >= ${value(dayOf(after))}`;
    const ofKeys = DIALECT.oneOf('key_id', keyIds, value);
    const [row] = await this.#database.query(
      `WITH scanned AS (SELECT day, id, key_id FROM gateway.request_log WHERE ${from} ORDER BY day, id LIMIT ${SCANNED_ROWS}),
         theirs AS (SELECT day, id FROM scanned WHERE ${ofKeys}),
         contents AS (DELETE FROM gateway.request_captures WHERE id IN (SELECT id FROM theirs)),
         removed AS (DELETE FROM gateway.request_log log USING theirs WHERE log.day = theirs.day AND log.id = theirs.id RETURNING 1)
       SELECT (SELECT count(*)::int FROM removed) AS removed, (SELECT count(*)::int FROM scanned) AS rows, (SELECT max(id) FROM scanned) AS last`,
      values,
    );
    const next = Number(row?.rows) === SCANNED_ROWS ? String(row?.last) : null;
    return { removed: Number(row?.removed ?? 0), next };
  }

  prune(retention: Retention, nowMs: number): Promise<boolean> {
    return this.#pruning.step(retention, nowMs);
  }

  bytes(): Promise<number> {
    return logBytes(this.#database);
  }

  failures(query: FailureQuery): Promise<FailureReport> {
    return readFailures((text, values) => this.#database.query(text, values), query);
  }

  changeFailures(keyIds: readonly string[], change: KeyChange): Promise<void> {
    return changeFailures((text, values) => this.#database.query(text, values), keyIds, change);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

const DIALECT: Dialect = {
  placeIn: 'strpos',
  detail: 'detail::jsonb',
  elements: (json) => `jsonb_array_elements(${json}) AS element(value)`,
  oneOf: (column, values, value) => `${column} IN (SELECT json_array_elements_text(${value(JSON.stringify(values))}))`,
};

function rangeOf({ sinceMs, condition }: RequestQuery, before: string | null, value: Value): string {
  const parts = ['true'];
  // There is no text behind all ids: how it sorts what is neither letter nor digit is up to the database.
  if (before !== null) parts.push(`id < ${value(before)}`, `day <= ${value(dayOf(before))}`);
  if (sinceMs != null) parts.push(`id >= ${value(idAt(sinceMs))}`, `day >= ${value(dayAt(sinceMs))}`);
  if (condition === ANY_CONDITION) parts.push('condition IS NOT NULL');
  else if (condition != null) parts.push(`condition = ${value(condition)}`);
  return parts.join(' AND ');
}
