/**
 * The requests of one key that the rate limit still sees, oldest first. They are numbered per key without gaps, and
 * their times never fall, so "fewer than `limit` in the window" is the same as "the one `limit` places back is old".
 */
import { RATE_WINDOW_MS } from '../operations.ts';
import type { RateState } from '../port.ts';

export interface RateRow {
  readonly number: number;
  readonly atMs: number;
}

export class RateWindow {
  #times: number[] = [];
  /** Index of the oldest time that still counts. */
  #head = 0;
  /** Number of the oldest request that still counts. */
  #firstNumber = 0;
  /** Rows with a lower number are gone from the database. */
  #storedFrom = 0;

  constructor(rows: readonly RateRow[]) {
    const first = rows[0];
    if (first === undefined) return;
    this.#times = rows.map((row) => row.atMs);
    this.#firstNumber = first.number;
    this.#storedFrom = first.number;
  }

  get count(): number {
    return this.#times.length - this.#head;
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

  /** Takes a place; returns its number. */
  take(nowMs: number): number {
    this.#times.push(nowMs);
    return this.#firstNumber + this.count - 1;
  }

  state(limit: number, nowMs: number): RateState {
    const newest = this.count === 0 ? nowMs - RATE_WINDOW_MS : (this.#times.at(-1) ?? 0);
    return { limit, remaining: Math.max(0, limit - this.count), resetMs: newest + RATE_WINDOW_MS - nowMs };
  }

  /** The number below which rows may be deleted, when that is worth a statement; otherwise null. */
  takeDeletable(rowsMin: number): number | null {
    if (this.#firstNumber - this.#storedFrom < rowsMin) return null;
    this.#storedFrom = this.#firstNumber;
    return this.#firstNumber;
  }
}
