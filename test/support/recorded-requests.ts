/** Every request that the gateway tells its observers about. */
import type { RequestObserver, RequestRecord } from '../../src/core/request-record.ts';

export class RecordedRequests implements RequestObserver {
  readonly begun: RequestRecord[] = [];
  readonly ended: RequestRecord[] = [];
  readonly #waiting = new Map<string, (record: RequestRecord) => void>();
  #next: ((record: RequestRecord) => void) | null = null;

  started(record: RequestRecord): void {
    this.begun.push(record);
  }

  finished(record: RequestRecord): void {
    this.ended.push(record);
    this.#waiting.get(record.requestId)?.(record);
    this.#next?.(record);
    this.#next = null;
  }

  /** The record of this request, once it has ended. */
  of(requestId: string | null | undefined): Promise<RequestRecord> {
    const record = this.ended.find((one) => one.requestId === requestId);
    if (record) return Promise.resolve(record);
    return new Promise((resolve) => this.#waiting.set(String(requestId), resolve));
  }

  /** The next request to end: for those whose client never hears of an id. */
  next(): Promise<RequestRecord> {
    return new Promise((resolve) => {
      this.#next = resolve;
    });
  }
}
