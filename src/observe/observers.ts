/** Several observers of requests as one. What one of them throws is a fault of this program, and never a request's. */
import type { Log } from '../core/log.ts';
import { NO_OBSERVER, type RequestObserver, type RequestRecord } from '../core/request-record.ts';

export function observers(all: readonly RequestObserver[], log: Log): RequestObserver {
  return all.length === 0 ? NO_OBSERVER : new Observers(all, log);
}

class Observers implements RequestObserver {
  readonly #all: readonly RequestObserver[];
  readonly #log: Log;

  constructor(all: readonly RequestObserver[], log: Log) {
    this.#all = all;
    this.#log = log;
  }

  started(record: RequestRecord): void {
    for (const observer of this.#all) {
      try {
        observer.started(record);
      } catch (err) {
        this.#failed(err, record);
      }
    }
  }

  finished(record: RequestRecord): void {
    for (const observer of this.#all) {
      try {
        observer.finished(record);
      } catch (err) {
        this.#failed(err, record);
      }
    }
  }

  #failed(err: unknown, { requestId, keyId }: RequestRecord): void {
    this.#log.error({ err, requestId, keyId }, 'an observer of requests failed; the request is not affected');
  }
}
