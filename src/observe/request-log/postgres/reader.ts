/** The reader of the request log in PostgreSQL, with what all gateways on the database have written. */
import { capturedIn } from '../captured.ts';
import { ATTEMPTS_AT, CLIENT_REQUEST_ID_AT, entryIn, FORMAT_AT, PROVIDER_AT, type RequestEntry } from '../entry.ts';
import {
  type CapturedContent,
  endOf,
  idAt,
  type RequestLogReader,
  type RequestPage,
  type RequestQuery,
  type RequestTail,
  type Retention,
} from '../store.ts';
import { dayAt, dayOf, LogDatabase } from './database.ts';
import { LogPruning, logBytes } from './pruning.ts';

const SCANNED_ROWS = 20_000;
const SCAN_MS = 2_000;
const TAIL_ROWS = 1_000;
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

  async list(query: RequestQuery): Promise<RequestPage> {
    const entries: RequestEntry[] = [];
    let before = endOf(query);
    for (const untilMs = performance.now() + SCAN_MS; ; ) {
      const values: unknown[] = [];
      const value = (given: unknown): string => `$${values.push(given)}`;
      const scanned = `FROM gateway.request_log WHERE ${rangeOf(query, before, value)}
        ORDER BY day DESC, id DESC LIMIT ${SCANNED_ROWS}`;
      const room = query.limit - entries.length;
      // The filters are applied to what is scanned, so that a search that finds little ends all the same.
      const rows = await this.#database.query(
        `WITH scanned AS (SELECT * ${scanned}), bounds AS (SELECT min(id) AS last_id, count(*)::int AS rows FROM scanned)
         SELECT scanned.*, bounds.last_id, bounds.rows FROM bounds
         LEFT JOIN LATERAL (SELECT * FROM scanned WHERE ${filtersOf(query, value)} ORDER BY id DESC LIMIT ${room}) scanned ON true`,
        values,
      );
      for (const row of rows) if (row.id !== null) entries.push(entryIn(row));
      const found = entries.at(-1);
      if (entries.length >= query.limit && found) return { entries, next: found.id };
      const [bounds] = rows;
      if (bounds === undefined || Number(bounds.rows) < SCANNED_ROWS) return { entries, next: null };
      before = String(bounds.last_id);
      if (performance.now() > untilMs) return { entries, next: before };
    }
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

  prune(retention: Retention, nowMs: number): Promise<boolean> {
    return this.#pruning.step(retention, nowMs);
  }

  bytes(): Promise<number> {
    return logBytes(this.#database);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

type Value = (given: unknown) => string;

function rangeOf({ sinceMs, condition }: RequestQuery, before: string | null, value: Value): string {
  const parts = ['true'];
  // There is no text behind all ids: how it sorts what is neither letter nor digit is up to the database.
  if (before !== null) parts.push(`id < ${value(before)}`, `day <= ${value(dayOf(before))}`);
  if (sinceMs != null) parts.push(`id >= ${value(idAt(sinceMs))}`, `day >= ${value(dayAt(sinceMs))}`);
  if (condition != null) parts.push(`condition = ${value(condition)}`);
  return parts.join(' AND ');
}

function filtersOf(query: RequestQuery, value: Value): string {
  const parts = ['true'];
  if (query.keyId != null) parts.push(`key_id = ${value(query.keyId)}`);
  if (query.keyIds != null) parts.push(`key_id = ANY (${value(query.keyIds)})`);
  if (query.model != null) parts.push(`model = ${value(query.model)}`);
  if (query.provider != null) {
    const attempts = `jsonb_array_elements(detail::jsonb -> ${ATTEMPTS_AT}) attempt`;
    parts.push(`EXISTS (SELECT 1 FROM ${attempts} WHERE attempt ->> ${PROVIDER_AT} = ${value(query.provider)})`);
  }
  if (query.format != null) parts.push(`detail::jsonb ->> ${FORMAT_AT} = ${value(query.format)}`);
  if (query.clientRequestId != null) {
    parts.push(`detail::jsonb ->> ${CLIENT_REQUEST_ID_AT} = ${value(query.clientRequestId)}`);
  }
  if (query.status != null) parts.push(`status BETWEEN ${value(query.status.from)} AND ${value(query.status.to)}`);
  if (query.slowerThanMs != null) parts.push(`duration_ms > ${value(query.slowerThanMs)}::float8`);
  if (query.costlierThanNanos != null) parts.push(`cost_nanos > ${value(String(query.costlierThanNanos))}`);
  return parts.join(' AND ');
}
