/**
 * A log as a file that can be flushed. The commits of a database that does not wait for the disk itself
 * (`synchronous = NORMAL`) are in its write-ahead log, in their order, and safe from a loss of power once it was flushed after
 * them.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';

export interface LogFile {
  /** Resolves when everything is on the disk that was written before this call. Calls that come together share a flush. */
  flushed(): Promise<void>;
  /** After the last flush. */
  close(): void;
}

export function openLogFile(path: string): LogFile {
  // Some systems flush only what may be written.
  const file = openSync(path, 'r+');
  const flushes = new Flushes(
    () =>
      new Promise((resolve, reject) => {
        fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
      }),
  );
  return { flushed: () => flushes.flushed(), close: () => closeSync(file) };
}

/** One flush at a time, for all who wait. */
export class Flushes {
  readonly #flush: () => Promise<void>;
  #running: Promise<void> | null = null;
  /** Has not begun yet: the running one may have begun before the last write. */
  #next: Promise<void> | null = null;

  constructor(flush: () => Promise<void>) {
    this.#flush = flush;
  }

  flushed(): Promise<void> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<void> {
    // Whoever waits for the running one hears of its failure itself; without one, this turn's others come along.
    await this.#running?.catch(() => {});
    this.#next = null;
    this.#running = this.#flush();
    await this.#running;
  }
}
