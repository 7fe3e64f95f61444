/** What is stored of a request, taken apart again for the operator. */
import { MICROSECONDS, type RequestEntry } from './entry.ts';

/** A request as the operator sees it. Times are milliseconds since it was received. */
export interface RequestView {
  readonly id: string;
  readonly received_at: string;
  readonly key_id: string | null;
  readonly key_label: string | null;
  /** The account of the key when the request came. Null where it had none, and in records of earlier releases. */
  readonly account_id: string | null;
  readonly mode: string | null;
  readonly endpoint: string | null;
  readonly format: string | null;
  readonly model: string | null;
  /** Whether the model was in the catalog. */
  readonly model_known: boolean;
  readonly streamed: boolean;
  readonly idempotency: string;
  readonly client_request_id: string | null;
  readonly user_agent: string | null;
  readonly client_address: string | null;
  readonly status: number | null;
  readonly condition: string | null;
  readonly message: string | null;
  /** Who ended it before its answer was complete: `client_gone`, `deadline`, `drain` or `operator`. */
  readonly stopped: string | null;
  readonly client_closed: boolean;
  readonly rate: { readonly limit: number; readonly remaining: number } | null;
  readonly attempts: readonly AttemptView[];
  readonly skipped: readonly { readonly provider: string; readonly model: string; readonly reason: string }[];
  readonly warnings: readonly string[];
  /** In the key's unit: nanos of a credit, or tokens. */
  readonly held: string | null;
  readonly settlement: string | null;
  readonly charged: string | null;
  readonly usage: UsageView | null;
  readonly cost_nanos: string | null;
  readonly provider_cost_nanos: string | null;
  readonly flag: string | null;
  readonly admitted_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly first_content_ms: number | null;
  readonly last_byte_ms: number | null;
  readonly settled_ms: number | null;
  readonly duration_ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly chunks: number;
  /** What a token of each class was charged by: nanos = rate ÷ per. Null in records of earlier releases. */
  readonly prices: PricesView | null;
}

export interface PricesView {
  readonly per: string;
  readonly input: string;
  readonly output: string;
  readonly cache_read: string;
  readonly cache_write: string;
  readonly cache_write_1h: string;
}

export interface AttemptView {
  readonly provider: string;
  readonly model: string;
  readonly format: string;
  readonly lane: string;
  readonly credential: number;
  readonly outcome: string;
  readonly waited_ms: number;
  readonly started_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly ended_ms: number | null;
  readonly status: number | null;
  readonly provider_request_id: string | null;
  readonly condition: string | null;
  readonly message: string | null;
  readonly retry_after_s: number | null;
}

export interface UsageView {
  readonly source: string;
  readonly input: number;
  readonly output: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly cache_write_1h: number;
  readonly reasoning: number;
}

export function viewOf(entry: RequestEntry): RequestView {
  const detail = new Cells(JSON.parse(entry.detail));
  return {
    id: entry.id,
    received_at: new Date(entry.receivedAtMs).toISOString(),
    key_id: entry.keyId,
    endpoint: detail.text(),
    format: detail.text(),
    key_label: detail.text(),
    mode: detail.text(),
    model: entry.model,
    model_known: detail.flag(),
    streamed: detail.flag(),
    idempotency: detail.text() ?? 'none',
    client_request_id: detail.text(),
    user_agent: detail.text(),
    client_address: detail.text(),
    status: entry.status,
    condition: entry.condition,
    message: detail.text(),
    stopped: detail.text(),
    client_closed: detail.flag(),
    attempts: detail.rows().map(attemptView),
    rate: detail.optional(([limit, remaining]) => ({ limit: Number(limit), remaining: Number(remaining) })),
    skipped: detail.rows().map(([provider, model, reason]) => ({
      provider: String(provider),
      model: String(model),
      reason: String(reason),
    })),
    warnings: detail.row().map(String),
    held: detail.amount(),
    settlement: detail.text(),
    charged: detail.amount(),
    usage: detail.optional((cells) => usageView(new Cells(cells))),
    cost_nanos: entry.costNanos === null ? null : String(entry.costNanos),
    provider_cost_nanos: detail.amount(),
    flag: detail.text(),
    admitted_ms: detail.milliseconds(),
    first_byte_ms: detail.milliseconds(),
    first_content_ms: detail.milliseconds(),
    last_byte_ms: detail.milliseconds(),
    settled_ms: detail.milliseconds(),
    duration_ms: entry.durationMs,
    bytes_in: detail.number() ?? 0,
    bytes_out: detail.number() ?? 0,
    chunks: detail.number() ?? 0,
    prices: detail.optional(pricesView),
    account_id: detail.text(),
  };
}

function attemptView(row: readonly unknown[]): AttemptView {
  const cells = new Cells(row);
  return {
    provider: cells.text() ?? '',
    model: cells.text() ?? '',
    format: cells.text() ?? '',
    lane: cells.text() ?? '',
    credential: cells.number() ?? 0,
    outcome: cells.text() ?? '',
    waited_ms: cells.milliseconds() ?? 0,
    started_ms: cells.milliseconds(),
    first_byte_ms: cells.milliseconds(),
    ended_ms: cells.milliseconds(),
    status: cells.number(),
    provider_request_id: cells.text(),
    condition: cells.text(),
    message: cells.text(),
    retry_after_s: cells.number(),
  };
}

function pricesView(row: readonly unknown[]): PricesView {
  const [per = 1, input = 0, output = 0, cache_read = 0, cache_write = 0, cache_write_1h = 0] = row;
  return {
    per: String(per),
    input: String(input),
    output: String(output),
    cache_read: String(cache_read),
    cache_write: String(cache_write),
    cache_write_1h: String(cache_write_1h),
  };
}

function usageView(cells: Cells): UsageView {
  return {
    source: cells.text() ?? '',
    input: cells.number() ?? 0,
    output: cells.number() ?? 0,
    cache_read: cells.number() ?? 0,
    cache_write: cells.number() ?? 0,
    cache_write_1h: cells.number() ?? 0,
    reasoning: cells.number() ?? 0,
  };
}

/** One after the other; what is not there, as in a row of an earlier release, is null. */
class Cells {
  readonly #cells: readonly unknown[];
  #at = 0;

  constructor(cells: unknown) {
    this.#cells = Array.isArray(cells) ? cells : [];
  }

  #next(): unknown {
    const cell = this.#cells[this.#at];
    this.#at += 1;
    return cell;
  }

  text(): string | null {
    const cell = this.#next();
    return typeof cell === 'string' ? cell : null;
  }

  number(): number | null {
    const cell = this.#next();
    return typeof cell === 'number' ? cell : null;
  }

  flag(): boolean {
    return this.#next() === 1;
  }

  amount(): string | null {
    const cell = this.#next();
    return typeof cell === 'number' || typeof cell === 'string' ? String(cell) : null;
  }

  milliseconds(): number | null {
    const microseconds = this.number();
    return microseconds === null ? null : microseconds / MICROSECONDS;
  }

  row(): readonly unknown[] {
    const cell = this.#next();
    return Array.isArray(cell) ? cell : [];
  }

  rows(): readonly (readonly unknown[])[] {
    return this.row().filter((row) => Array.isArray(row));
  }

  optional<T>(read: (row: readonly unknown[]) => T): T | null {
    const cell = this.#next();
    return Array.isArray(cell) ? read(cell) : null;
  }
}
