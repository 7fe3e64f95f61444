/** The port of the request log: the SQLite file and PostgreSQL implement it. */
import type { FailureSink, FailureSource } from '../failures/store.ts';
import type { RequestEntry } from './entry.ts';

/** One per serving thread. */
export interface RequestLogAppender extends FailureSink {
  /** All of them or none; entries that are there already stay as they are. Rejects when the store did not take them. */
  append(entries: readonly RequestEntry[], captured?: readonly CapturedContent[]): Promise<void>;
  close(): Promise<void>;
}

/** What was captured of a request: both texts compressed with gzip. */
export interface CapturedContent {
  readonly id: string;
  readonly expiresAtMs: number;
  readonly request: Uint8Array;
  readonly response: Uint8Array;
  /** Something was too long to be kept whole. */
  readonly cut: boolean;
}

/** What is looked for; what is absent or null does not matter. */
export interface RequestQuery {
  readonly keyId?: string | null;
  /** One of these. */
  readonly keyIds?: readonly string[] | null;
  readonly model?: string | null;
  /** A part of the model's name, in any case of letters. */
  readonly modelPart?: string | null;
  /** One that was called for the request. */
  readonly provider?: string | null;
  /** The client's. */
  readonly format?: string | null;
  /** The client's own id. */
  readonly clientRequestId?: string | null;
  /** From `from` to `to`, both included. */
  readonly status?: { readonly from: number; readonly to: number } | null;
  /** `any`: whatever a request failed with. */
  readonly condition?: string | null;
  readonly sinceMs?: number | null;
  readonly untilMs?: number | null;
  readonly slowerThanMs?: number | null;
  readonly costlierThanNanos?: bigint | null;
  /** Where the page before ended; of this and `untilMs`, the earlier one. */
  readonly before?: string | null;
  readonly limit: number;
}

/** As a condition that is looked for. */
export const ANY_CONDITION = 'any';

/** Newest first. */
export interface RequestPage {
  readonly entries: readonly RequestEntry[];
  /** Where the next page begins; null where there is no more. A page may be short, or empty, before the end is reached. */
  readonly next: string | null;
}

/** In the order in which they were stored. */
export interface RequestTail {
  readonly entries: readonly RequestEntry[];
  /** For the next call. */
  readonly position: string;
}

export interface Forgotten {
  readonly removed: number;
  /** Where the next step begins; null: all were looked at. */
  readonly next: string | null;
}

export interface Retention {
  readonly keepMs: number;
  readonly maxBytes: number;
}

/** For the operator; what it does takes no time of the threads that serve. */
export interface RequestLogReader extends FailureSource {
  find(id: string): Promise<RequestEntry | null>;
  /** Null where nothing was captured, or its time is over. */
  captured(id: string): Promise<CapturedContent | null>;
  list(query: RequestQuery): Promise<RequestPage>;
  /** What was stored since `position`; null: what is stored from now on. `newest`: only the last so many of it. */
  tail(position: string | null, newest?: number): Promise<RequestTail>;
  /** One step, oldest first, from `after` on: removes the requests of these keys, with what was captured of them. */
  forget(keyIds: readonly string[], after: string | null): Promise<Forgotten>;
  /** One small step; whether there is more to do at once. */
  prune(retention: Retention, nowMs: number): Promise<boolean>;
  /** How much room the log takes. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Ids begin with the time of the request: this is where those of that time begin. */
export function idAt(ms: number): string {
  return `req_${Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')}`;
}

/** Where a search begins, newest first: before this id; null: with the newest. */
function endOf({ before = null, untilMs = null }: RequestQuery): string | null {
  const until = untilMs === null ? null : idAt(untilMs);
  if (before === null || until === null) return before ?? until;
  return before < until ? before : until;
}

/** How many rows are looked at between two looks at the clock. */
export const SCANNED_ROWS = 20_000;
const SCAN_MS = 2_000;
/** How many entries a tail gives at most. */
export const TAIL_ROWS = 1_000;

/** What was found among the next rows, and the id of the last one of them; null where these were the last rows. */
interface Scanned {
  readonly entries: readonly RequestEntry[];
  last(): string | null;
}

/** A search that finds little ends after a while, with what it has found and where to go on. */
export async function scan(
  query: RequestQuery,
  look: (before: string | null, room: number) => Promise<Scanned>,
): Promise<RequestPage> {
  const entries: RequestEntry[] = [];
  let before = endOf(query);
  for (const untilMs = performance.now() + SCAN_MS; ; ) {
    const scanned = await look(before, query.limit - entries.length);
    entries.push(...scanned.entries);
    const found = entries.at(-1);
    if (entries.length >= query.limit && found) return { entries, next: found.id };
    before = scanned.last();
    if (before === null || performance.now() > untilMs) return { entries, next: before };
  }
}
