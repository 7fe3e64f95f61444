/**
 * The request log's end on a serving thread: takes the record of every request, and stores them in batches, off the path of
 * any request. It is bounded: where the store does not keep up, records are dropped and counted, and requests go on.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Capture } from '../../core/capture.ts';
import type { Log } from '../../core/log.ts';
import { isKeyUnasked, type RequestObserver, type RequestRecord } from '../../core/request-record.ts';
import { inTime } from '../../lib/in-time.ts';
import { capturedContent } from './captured.ts';
import { entryOf, type RequestEntry } from './entry.ts';
import type { CapturedContent, RequestLogAppender } from './store.ts';

/** So that no more than a second of the log is lost with the process. */
const FLUSH_MS = 250;
/**
 * Of one batch: less than a millisecond of the thread. So many do not wait any longer: entries that wait for a quarter of a second outlive
 * two collections of a busy gateway and are collected with the old generation, 710 -> 320 bytes per request (W1), and 216 MB after 100,000
 * requests where it was 264.
 */
export const BATCH_ROWS = 128;
export const BUFFERED_RECORDS_MAX = 10_000;
/** Of the records that wait to be stored: long ones are fewer. */
export const BUFFERED_BYTES_MAX = 32 * 1024 ** 2;
/** What an entry takes beside its long texts. */
const ENTRY_BYTES = 512;
/** Of captured content that waits to be stored. Beyond it the record is stored without. */
const BUFFERED_CAPTURE_BYTES_MAX = 64 * 1024 ** 2;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 5_000;
/** What has no known key is counted; so often at most, one of them is stored. */
const SAMPLE_MS = 1_000;
const WARN_MS = 60_000;
const CLOSE_WAIT_MS = 2_000;

export interface RequestLogStats {
  readonly written: number;
  /** Requests that the log could not take. */
  readonly dropped: number;
  /** Requests whose content should have been captured, and was not. */
  readonly capturesDropped: number;
  readonly buffered: number;
  /** Batches that the store did not take at the first try. */
  readonly failures: number;
  /** Requests without a known key, as far as the store could be asked. */
  readonly unauthenticated: number;
}

interface RequestLogWriterOptions {
  readonly appender: Pick<RequestLogAppender, 'append'>;
  readonly log: Log;
  enabled(): boolean;
  readonly captureBytesMax?: number;
}

export class RequestLogWriter implements RequestObserver {
  readonly #options: RequestLogWriterOptions;
  /** Encoded at once: a record that waits is many objects, which the garbage collector copies twice; an entry is a few. */
  #buffer: RequestEntry[] = [];
  /** Of the buffer and of the batch. */
  #bufferedBytes = 0;
  /** By request id. */
  readonly #captures = new Map<string, Capture>();
  /** A batch that is being stored, or has not been taken yet. */
  #batch: readonly RequestEntry[] = [];
  /** What was captured of the requests of the batch. */
  #captured: readonly CapturedContent[] = [];
  #capturedBytes = 0;
  #capturesDropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #retryMs = RETRY_FIRST_MS;
  #written = 0;
  #dropped = 0;
  #failures = 0;
  #unauthenticated = 0;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: RequestLogWriterOptions) {
    this.#options = options;
  }

  get stats(): RequestLogStats {
    return {
      written: this.#written,
      dropped: this.#dropped,
      capturesDropped: this.#capturesDropped,
      buffered: this.#buffer.length + this.#batch.length,
      failures: this.#failures,
      unauthenticated: this.#unauthenticated,
    };
  }

  started(): void {}

  finished(record: RequestRecord): void {
    if (record.keyId === null && !isKeyUnasked(record) && !this.#isSample(record)) return;
    if (!this.#options.enabled()) return;
    if (this.#isFull || this.#closed) {
      this.#dropped += 1;
      return;
    }
    if (record.capture !== null) this.#takeCapture(record.requestId, record.capture);
    const entry = entryOf(record);
    this.#bufferedBytes += bytesOf(entry);
    this.#buffer.push(entry);
    if (this.#flushing !== null) return;
    if (this.#buffer.length === BATCH_ROWS && this.#batch.length === 0) this.#arm(0);
    else if (this.#timer === null) this.#arm(FLUSH_MS);
  }

  /** Before a record is encoded, so that one that is dropped costs nothing. */
  get #isFull(): boolean {
    return this.#buffer.length >= BUFFERED_RECORDS_MAX || this.#bufferedBytes >= BUFFERED_BYTES_MAX;
  }

  #takeCapture(requestId: string, capture: Capture): void {
    const { captureBytesMax = BUFFERED_CAPTURE_BYTES_MAX } = this.#options;
    if (this.#capturedBytes + capture.bytes > captureBytesMax) {
      this.#capturesDropped += 1;
      return;
    }
    this.#capturedBytes += capture.bytes;
    this.#captures.set(requestId, capture);
  }

  #isSample({ endedAt }: RequestRecord): boolean {
    this.#unauthenticated += 1;
    if (endedAt === null || endedAt - this.#sampledAt < SAMPLE_MS) return false;
    this.#sampledAt = endedAt;
    return true;
  }

  #arm(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = null;
        if (!this.#closed && this.#timer === null && this.#buffer.length + this.#batch.length > 0) this.#arm(FLUSH_MS);
      });
    }, ms).unref();
  }

  /** Until nothing is left, or the store does not take a batch. Never rejects. */
  async #flush(): Promise<void> {
    while (this.#batch.length > 0 || this.#buffer.length > 0) {
      if (this.#batch.length === 0) await this.#nextBatch();
      try {
        await this.#options.appender.append(this.#batch, this.#captured);
      } catch (error) {
        this.#failed(error);
        return;
      }
      this.#written += this.#batch.length;
      for (const entry of this.#batch) this.#bufferedBytes -= bytesOf(entry);
      this.#batch = [];
      this.#captured = [];
      this.#retryMs = RETRY_FIRST_MS;
      // Requests come first.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** A batch that is not taken is tried again until somebody gives it up: a neighbour that ends too may be in the way. */
  async #flushAll(givenUp: AbortSignal): Promise<void> {
    for (;;) {
      await this.#flush();
      if (this.#buffer.length + this.#batch.length === 0 || givenUp.aborted) return;
      await delay(RETRY_FIRST_MS, undefined, { signal: givenUp }).catch(() => {});
    }
  }

  async #nextBatch(): Promise<void> {
    this.#batch = this.#buffer.length <= BATCH_ROWS ? this.#buffer : this.#buffer.splice(0, BATCH_ROWS);
    if (this.#batch === this.#buffer) this.#buffer = [];
    if (this.#captures.size === 0) return;
    for (const { id, receivedAtMs } of this.#batch) {
      const capture = this.#captures.get(id);
      if (capture === undefined) continue;
      this.#captured = [...this.#captured, await capturedContent(id, capture, receivedAtMs)];
      this.#captures.delete(id);
      this.#capturedBytes -= capture.bytes;
    }
  }

  #failed(err: unknown): void {
    this.#failures += 1;
    if (this.#closed) return;
    const now = performance.now();
    // A neighbour's batch may have been in the way once.
    if (this.#retryMs > RETRY_FIRST_MS && now - this.#warnedAt > WARN_MS) {
      this.#warnedAt = now;
      const { dropped, buffered } = this.stats;
      this.#options.log.warn(
        { err, dropped, buffered },
        'the request log cannot be written; requests go on without it',
      );
    }
    this.#arm(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }

  /** Stores what is there, for a short time at most. The appender stays open. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#closed = true;
    await inTime(CLOSE_WAIT_MS, (givenUp) => (this.#flushing ?? Promise.resolve()).then(() => this.#flushAll(givenUp)));
    const { buffered, dropped } = this.stats;
    if (buffered + dropped === 0) return;
    this.#options.log.warn({ dropped: dropped + buffered }, 'the request log is not complete');
  }
}

/** At most: a text of Latin letters alone takes half of it. */
function bytesOf({ detail, model }: RequestEntry): number {
  return ENTRY_BYTES + 2 * (detail.length + (model?.length ?? 0));
}
