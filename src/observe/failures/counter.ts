/**
 * Counts the requests of a serving thread that were refused or failed: in memory, stored in batches off the path of any request.
 * What a client without a key can send adds no groups, so that nobody makes this grow who is not known.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import type { RequestObserver, RequestRecord } from '../../core/request-record.ts';
import { HOUR_MS } from '../../core/time.ts';
import { inTime } from '../../lib/in-time.ts';
import type { FailureCount, FailureSink } from './store.ts';

/** So that a report is no more than a second behind, and no more is lost with the process. */
const FLUSH_MS = 500;
const RETRY_MAX_MS = 30_000;
const CLOSE_WAIT_MS = 2_000;
/** While the store is out of reach. Beyond them only the hour, the format and the condition are told apart. */
export const GROUPS_MAX = 10_000;
const GENERATIONS: ReadonlySet<RequestRecord['endpoint']> = new Set(['chat', 'responses', 'messages']);

type Counted = { -readonly [Name in keyof FailureCount]: FailureCount[Name] };

interface FailureCounterOptions {
  readonly sink: FailureSink;
  readonly log: Log;
}

export class FailureCounter implements RequestObserver {
  readonly #options: FailureCounterOptions;
  #counts = new Map<string, Counted>();
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #retryMs = FLUSH_MS;
  #warned = false;
  #closed = false;

  constructor(options: FailureCounterOptions) {
    this.#options = options;
  }

  started(): void {}

  /** A failure that was charged, such as an answer that broke off, is in the reports already. */
  finished(record: RequestRecord): void {
    if (record.condition === null || record.settlement === 'charge' || !GENERATIONS.has(record.endpoint)) return;
    this.#add(groupOf(record));
    if (this.#timer === null && this.#flushing === null && !this.#closed) this.#arm(FLUSH_MS);
  }

  #add(count: Counted): void {
    const found = this.#counts.get(nameOf(count));
    if (found !== undefined) {
      found.failed += count.failed;
      found.label = count.label;
      found.accountId = count.accountId;
    } else if (this.#counts.size < GROUPS_MAX || count.keyId === '') this.#counts.set(nameOf(count), count);
    else this.#add({ ...count, keyId: '', label: '', accountId: '', model: '', provider: '' });
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = null;
        if (this.#counts.size > 0 && this.#timer === null && !this.#closed) this.#arm(this.#retryMs);
      });
    }, ms).unref();
  }

  /** Never rejects. What a store took without being able to say so is counted again: a failure too many rather than one unseen. */
  async #flush(): Promise<void> {
    const counts = this.#counts;
    if (counts.size === 0) return;
    this.#counts = new Map();
    try {
      await this.#options.sink.count([...counts.values()]);
      this.#retryMs = FLUSH_MS;
      this.#warned = false;
    } catch (err) {
      const meanwhile = this.#counts;
      this.#counts = counts;
      for (const count of meanwhile.values()) this.#add(count);
      this.#failed(err);
    }
  }

  #failed(err: unknown): void {
    // A neighbour's batch may have been in the way once.
    if (this.#retryMs > FLUSH_MS && !this.#warned) {
      this.#warned = true;
      this.#options.log.warn(
        { err },
        'failed requests cannot be counted in the store; they are kept until they can be',
      );
    }
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }

  /** Stores what is there, for a short time at most. The sink stays open. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#closed = true;
    await inTime(CLOSE_WAIT_MS, (givenUp) => (this.#flushing ?? Promise.resolve()).then(() => this.#flushAll(givenUp)));
    if (this.#counts.size === 0) return;
    const failed = [...this.#counts.values()].reduce((sum, count) => sum + count.failed, 0);
    this.#options.log.warn({ failed }, 'some failed requests are in no report');
  }

  async #flushAll(givenUp: AbortSignal): Promise<void> {
    for (;;) {
      await this.#flush();
      if (this.#counts.size === 0 || givenUp.aborted) return;
      await delay(FLUSH_MS / 10, undefined, { signal: givenUp }).catch(() => {});
    }
  }
}

/** Of a request without a known key, only what this program names itself. */
function groupOf(record: RequestRecord): Counted {
  const { keyId, attempts } = record;
  return {
    startMs: Math.floor(record.receivedAtMs / HOUR_MS) * HOUR_MS,
    keyId: keyId ?? '',
    label: record.keyLabel ?? '',
    accountId: record.accountId ?? '',
    model: keyId === null ? '' : (record.model ?? ''),
    provider: attempts[attempts.length - 1]?.provider ?? '',
    format: record.format ?? '',
    condition: record.condition ?? '',
    failed: 1,
  };
}

function nameOf({ startMs, keyId, model, provider, format, condition }: FailureCount): string {
  return `${startMs} ${keyId} ${provider} ${format} ${condition} ${model}`;
}
