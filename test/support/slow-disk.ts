import type { LogFile } from '../../src/ledger/sqlite/wal-file.ts';
import { pending } from './pending.ts';

/** A disk whose flushes end when the test says so. */
export class SlowDisk implements LogFile {
  readonly #waiting: { resolve(): void; reject(error: Error): void }[] = [];

  get flushes(): number {
    return this.#waiting.length;
  }

  flushed(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  /** The flushes that have begun, to be ended one by one. */
  take(): { resolve(): void; reject(error: Error): void }[] {
    return this.#waiting.splice(0);
  }

  /** Ends the flushes that have begun. */
  end(failure?: Error): void {
    for (const flush of this.#waiting.splice(0)) failure === undefined ? flush.resolve() : flush.reject(failure);
  }

  close(): void {}
}

/** Calls `end` of the disk until the promise is settled. */
export async function flushing<T>(disk: SlowDisk, promise: Promise<T>): Promise<T> {
  while (await pending(promise)) disk.end();
  return promise;
}
