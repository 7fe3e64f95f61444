/**
 * The requests of one key that its rate limit still counts, oldest first. They are numbered per key without gaps, and their
 * times never decrease, so "fewer than `limit` in the window" is the same as "the one `limit` slots back is old".
 */

import { integer, type Row, text } from '../../storage/columns.ts';
import { RATE_WINDOW_MS } from '../operations.ts';
import type { RateState } from '../port.ts';

/** Requests that follow each other, as one row of the database has them. */
export interface RateRun {
  /** Of its first request. */
  readonly number: number;
  readonly times: readonly number[];
}

export class RateWindow {
  #times: number[];
  /** Index of the oldest time that still counts. */
  #head = 0;
  /** Number of the oldest request that still counts. */
  #firstNumber: number;
  /** Runs that begin with a lower number may be gone from the database. */
  #storedFrom: number;
  /** Times that the database does not have yet: the newest ones. */
  #unsaved: number[] = [];

  constructor(runs: readonly RateRun[]) {
    this.#times = runs.flatMap(({ times }) => times);
    this.#firstNumber = runs[0]?.number ?? 0;
    this.#storedFrom = this.#firstNumber;
  }

  get count(): number {
    return this.#times.length - this.#head;
  }

  get nextNumber(): number {
    return this.#firstNumber + this.count;
  }

  /** Forgets what has left the window. */
  advance(nowMs: number): void {
    let head = this.#head;
    while (head < this.#times.length && (this.#times[head] ?? 0) <= nowMs - RATE_WINDOW_MS) head++;
    this.#firstNumber += head - this.#head;
    this.#head = head;
    if (head > 1_024 && head * 2 > this.#times.length) {
      this.#times = this.#times.slice(head);
      this.#head = 0;
    }
  }

  /** How long until one more request fits under the limit; 0 when it fits now. */
  waitMs(limit: number, nowMs: number): number {
    const blocking = this.count - limit;
    if (blocking < 0) return 0;
    return (this.#times[this.#head + blocking] ?? 0) + RATE_WINDOW_MS - nowMs;
  }

  /** Of one that still counts, from the oldest on. */
  timeAt(index: number): number {
    return this.#times[this.#head + index] ?? 0;
  }

  take(nowMs: number): void {
    this.#times.push(nowMs);
    this.#unsaved.push(nowMs);
  }

  /** Gives the newest slot back, which must not have been saved. */
  undo(): void {
    this.#times.pop();
    this.#unsaved.pop();
  }

  state(limit: number, nowMs: number): RateState {
    const newest = this.count === 0 ? nowMs - RATE_WINDOW_MS : (this.#times.at(-1) ?? 0);
    return { limit, remaining: Math.max(0, limit - this.count), resetMs: newest + RATE_WINDOW_MS - nowMs };
  }

  /** What the database does not have yet; null when there is nothing. */
  unsaved(): RateRun | null {
    if (this.#unsaved.length === 0) return null;
    return { number: this.#firstNumber + this.count - this.#unsaved.length, times: [...this.#unsaved] };
  }

  /** The database has this run now, which was unsaved; more may have come since. */
  saved({ number, times }: RateRun): void {
    const first = this.#firstNumber + this.count - this.#unsaved.length;
    this.#unsaved = this.#unsaved.slice(Math.max(0, number + times.length - first));
  }

  /** Whether so many requests have left the window that it is worth a statement to remove their rows. */
  worthRemoving(requestsMin: number): boolean {
    if (this.#firstNumber - this.#storedFrom < requestsMin) return false;
    this.#storedFrom = this.#firstNumber;
    return true;
  }
}

export function readRun(row: Row): RateRun {
  // Written by `RateWindows`.
  return { number: integer(row, 'number'), times: JSON.parse(text(row, 'times')) as number[] };
}
