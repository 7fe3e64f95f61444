/** What an operator can ask about requests: those of the log, and those that run now. */
import { AMOUNT_MAX, parseCredits } from '../../core/money.ts';
import { clientText, type RunningRequest } from '../../core/request-record.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { explain } from '../../observe/explain.ts';
import type { FailureQuery, FailureReport } from '../../observe/failures/store.ts';
import { textOf } from '../../observe/request-log/captured.ts';
import type { RequestEntry } from '../../observe/request-log/entry.ts';
import { ANY_CONDITION, type RequestLogReader, type RequestQuery } from '../../observe/request-log/store.ts';
import { type RequestView, viewOf } from '../../observe/request-log/view.ts';
import { AdminError } from '../error.ts';
import { readTime } from '../http/time.ts';
import { invalid } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { NO_ACCOUNT } from '../keys/schema.ts';
import type { RequestContent, RequestFilters, RequestSearch } from './schema.ts';

const LIMIT_DEFAULT = 50;

type Filters = View<typeof RequestFilters>;
export type Search = View<typeof RequestSearch>;

interface RequestPageView {
  readonly object: 'list';
  readonly data: readonly RequestView[];
  readonly next: string | null;
}

interface Tail {
  readonly requests: readonly RequestView[];
  /** There were others, which are left out. */
  readonly more: boolean;
  readonly position: string;
}

/** Of whom requests are shown, and the accounts among some that may be named; null: of everybody, and all. */
interface InReach {
  keyIds(): Promise<ReadonlySet<string>>;
  accountsAmong(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** The keys of an account, with or without those of the accounts below it; null as its id: those that have none. */
export type KeysOfAccount = (accountId: string | null, below: boolean) => Promise<ReadonlySet<string>>;

export class Requests {
  readonly #reader: RequestLogReader | null;
  readonly #running: () => Promise<readonly RunningRequest[]>;
  readonly #reach: InReach | null;
  readonly #keysOf: KeysOfAccount;

  /** `reader`: null where nothing was ever logged. */
  constructor(
    reader: RequestLogReader | null,
    running: () => Promise<readonly RunningRequest[]>,
    reach: InReach | null = null,
    keysOf: KeysOfAccount = async () => new Set(),
  ) {
    this.#reader = reader;
    this.#running = running;
    this.#reach = reach;
    this.#keysOf = keysOf;
  }

  /** `reach` for an `account-admin`: the requests of these keys, without anything about providers. */
  within(reach: InReach | null, keysOf: KeysOfAccount): Requests {
    return new Requests(this.#reader, this.#running, reach, keysOf);
  }

  /** Whether the caller sees only the requests of some keys. */
  get isLimited(): boolean {
    return this.#reach !== null;
  }

  async show(id: string): Promise<{ readonly request: RequestView; readonly explanation: readonly string[] }> {
    const entry = (await this.#read((log) => log.find(id))) ?? null;
    const keys = await this.#reach?.keyIds();
    if (entry === null || keys?.has(entry.keyId ?? '') === false) {
      const shown = JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
      throw new AdminError(
        'not_found',
        `no request ${shown} is in the log: check the id (x-request-id of the response). It may still run, be older than request_log.keep_days, or have ended with its gateway before anything was owed; of requests without a valid key this log keeps only some, the access log all${id.startsWith('req_') ? '' : '. To find it by the id that the client gave it, use "gateway requests list --client-request-id ID"'}`,
      );
    }
    const request = await this.#view(entry);
    return { request, explanation: explain(request) };
  }

  /** What was captured of it. */
  async content(id: string): Promise<View<typeof RequestContent>> {
    await this.show(id);
    const found = (await this.#read((log) => log.captured(id))) ?? null;
    if (found === null) {
      throw new AdminError(
        'not_found',
        'the content of this request was not captured, or has expired: capture_days of the key turns capturing on for later requests',
      );
    }
    const [request, response] = await Promise.all([textOf(found.request), textOf(found.response)]);
    const expires_at = new Date(found.expiresAtMs).toISOString();
    return { object: 'request_content', id, request, response, cut: found.cut, expires_at };
  }

  /** What has failed of the key counts for its account, as what it was charged does. */
  async moved(keyId: string, accountId: string): Promise<void> {
    await this.#read((log) => log.changeFailures([keyId], { accountId }));
  }

  /** Removes what the log has of these keys, and how they were called; how many requests that were. */
  async forget(keyIds: readonly string[]): Promise<number> {
    await this.#read((log) => log.changeFailures(keyIds, { label: '' }));
    let removed = 0;
    for (let after: string | null = null; ; ) {
      const step = await this.#read((log) => log.forget(keyIds, after));
      removed += step?.removed ?? 0;
      after = step?.next ?? null;
      if (after === null) return removed;
    }
  }

  async list(search: Search, nowMs: number): Promise<RequestPageView> {
    const keys = await this.#keys(search);
    const query = { ...this.#queryOf(search, nowMs), ...(keys !== undefined && { keyIds: [...keys] }) };
    const page = (await this.#read((log) => log.list(query))) ?? { entries: [], next: null };
    return { object: 'list', data: await this.#views(page.entries), next: page.next };
  }

  /** What has ended since `position`; null: from now on. `newest`: only the last so many, and whether there were more. */
  async tail(filters: Filters, position: string | null, nowMs: number, newest?: number): Promise<Tail> {
    const query = this.#queryOf(filters, nowMs);
    // One more than wanted tells that there are others. Among those that do not all fit, none can be passed over.
    const all = this.#reach === null && Object.keys(filters).length === 0;
    const last = newest === undefined || !all ? undefined : newest + 1;
    const tail = (await this.#read((log) => log.tail(position, last))) ?? { entries: [], position: position ?? '0' };
    // With the first call, so that an account that is not there is an error; then only where it matters.
    const keys = position === null || tail.entries.length > 0 ? await this.#keys(filters) : undefined;
    const entries = tail.entries.filter((entry) => keys?.has(entry.keyId ?? '') !== false && fits(entry, query));
    const shown = newest === undefined ? entries : entries.slice(-newest);
    return {
      requests: await this.#views(shown),
      more: shown.length < entries.length,
      position: tail.position,
    };
  }

  /** Null where nothing was ever counted. */
  async failures(query: FailureQuery): Promise<FailureReport | null> {
    const reach = await this.#reach?.keyIds();
    if (reach === undefined) return (await this.#read((log) => log.failures(query))) ?? null;
    const keys = query.keys === undefined ? reach : new Set([...query.keys].filter((id) => reach.has(id)));
    const found = await this.#read((log) => log.failures({ ...query, keys }));
    if (found === undefined) return null;
    const index = query.by.indexOf('account');
    const inReach = await this.#accountsAmong(found.rows.map(({ group }) => group[index]));
    const rows = found.rows.map(({ group, failed }) => ({
      group: group.map((value, at) => (at === index && !inReach.has(value) ? null : value)),
      failed,
    }));
    return { ...found, rows, withoutKey: {} };
  }

  async running(): Promise<readonly RunningRequest[]> {
    const keys = await this.#reach?.keyIds();
    const all = await this.#running();
    return keys === undefined
      ? all
      : all.filter(({ key_id }) => keys.has(key_id)).map((request) => ({ ...request, provider: '' }));
  }

  /** Of whom requests are asked for; undefined: of everybody. */
  async #keys({ account, below = 'yes' }: Filters): Promise<ReadonlySet<string> | undefined> {
    if (account === undefined) return this.#reach?.keyIds();
    // An account has no keys that are not in reach: the caller does not find it otherwise.
    return this.#keysOf(account === NO_ACCOUNT ? null : account, below === 'yes');
  }

  /** What cannot be read is said as such: nothing else of the gateway depends on the log. */
  async #read<T>(ask: (log: RequestLogReader) => Promise<T>): Promise<T | undefined> {
    try {
      return this.#reader === null ? undefined : await ask(this.#reader);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new AdminError(
        'unavailable',
        `the request log cannot be read (${reason}): see "The request log" in docs/run/observability.md`,
        { cause },
      );
    }
  }

  #queryOf(search: Search, nowMs: number): RequestQuery {
    if (this.#reach !== null && search.provider !== undefined) {
      throw new AdminError('forbidden', 'provider: only an operator may see which provider served a request', {
        field: 'provider',
      });
    }
    return readSearch(search, nowMs);
  }

  async #view(entry: RequestEntry): Promise<RequestView> {
    const [view] = await this.#views([entry]);
    return view ?? viewOf(entry);
  }

  /** A key may have had an account that is not in reach when the request came. */
  async #views(entries: readonly RequestEntry[]): Promise<readonly RequestView[]> {
    const views = entries.map(viewOf);
    if (this.#reach === null) return views;
    const inReach = await this.#accountsAmong(views.map(({ account_id }) => account_id));
    const hidden = { attempts: [], skipped: [], provider_cost_nanos: null, flag: null };
    return views.map((view) => ({
      ...view,
      ...hidden,
      account_id: inReach.has(view.account_id) ? view.account_id : null,
    }));
  }

  async #accountsAmong(ids: readonly unknown[]): Promise<ReadonlySet<unknown>> {
    const named = new Set(ids.filter((id) => typeof id === 'string' && id !== ''));
    return named.size === 0 || this.#reach === null ? new Set() : this.#reach.accountsAmong([...named] as string[]);
  }
}

export function readSearch(search: Search, nowMs: number): RequestQuery {
  const sinceMs = search.since === undefined ? null : timeOf('since', search.since, nowMs);
  const untilMs = search.until === undefined ? null : timeOf('until', search.until, nowMs);
  if (sinceMs !== null && untilMs !== null && sinceMs >= untilMs) {
    throw invalid('until', 'must be later than since');
  }
  return {
    keyId: search.key ?? null,
    model: search.model ?? null,
    modelPart: search.model_part ?? null,
    provider: search.provider ?? null,
    format: search.format ?? null,
    // As it is kept.
    clientRequestId: clientText(search.client_request_id ?? null),
    status: search.status === undefined ? null : statusesOf(search.status),
    condition: search.condition ?? null,
    sinceMs,
    untilMs,
    slowerThanMs: search.slower_than === undefined ? null : readDuration(search.slower_than),
    costlierThanNanos: search.costlier_than === undefined ? null : readCost(search.costlier_than),
    before: search.before ?? null,
    limit: search.limit ?? LIMIT_DEFAULT,
  };
}

function timeOf(field: string, text: string, nowMs: number): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (unit !== undefined) return Math.max(0, nowMs - Number(count) * (UNITS[unit] ?? 0));
  const ms = readTime(text);
  if (ms !== null && ms >= 0) return ms;
  throw invalid(
    field,
    `is ${JSON.stringify(text)}: must be a time such as 2026-01-31T12:00:00Z, or how long ago such as 30m, 24h or 7d`,
  );
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: HOUR_MS, d: DAY_MS };

/** As its schema has it. */
function statusesOf(text: string): { readonly from: number; readonly to: number } {
  const from = Number(text.replace('xx', '00'));
  return { from, to: text.endsWith('xx') ? from + 99 : from };
}

/** In milliseconds, to the thousandth. */
function readDuration(text: string): number {
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  const factor = { ms: 1, s: 1_000, m: 60_000 }[unit ?? ''];
  // Whole thousandths are exact: 1.001 × 1000 is a little less than 1001.
  if (factor !== undefined) return (Math.round(Number(count) * 1_000) * factor) / 1_000;
  throw invalid('slower_than', `is ${JSON.stringify(text)}: must be a time such as 500ms, 2s or 1m`);
}

function readCost(text: string): bigint {
  try {
    const nanos = parseCredits(text);
    if (nanos <= AMOUNT_MAX) return nanos;
  } catch {
    // Refused below.
  }
  throw invalid('costlier_than', `is ${JSON.stringify(text)}: must be an amount of credits such as 0.25`);
}

function fits(entry: RequestEntry, query: RequestQuery): boolean {
  const { keyId, model, modelPart, provider, format, clientRequestId, status, condition } = query;
  const { slowerThanMs, costlierThanNanos } = query;
  return (
    (keyId == null || entry.keyId === keyId) &&
    (model == null || entry.model === model) &&
    (modelPart == null || entry.model?.toLowerCase().includes(modelPart.toLowerCase()) === true) &&
    (provider == null || viewOf(entry).attempts.some((attempt) => attempt.provider === provider)) &&
    (format == null || viewOf(entry).format === format) &&
    (clientRequestId == null || viewOf(entry).client_request_id === clientRequestId) &&
    (status == null || (entry.status !== null && entry.status >= status.from && entry.status <= status.to)) &&
    (condition == null || (condition === ANY_CONDITION ? entry.condition !== null : entry.condition === condition)) &&
    (slowerThanMs == null || entry.durationMs > slowerThanMs) &&
    (costlierThanNanos == null || (entry.costNanos !== null && entry.costNanos > costlierThanNanos))
  );
}
