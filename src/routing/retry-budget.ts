/**
 * How many attempts beyond the first a process may make, so that an outage is not multiplied: a fifth of its
 * exchanges, and one a second besides, so that a quiet gateway can always fail over.
 */
import type { Clock } from '../core/clock.ts';

/** The budget in thousandths of a retry, so that a millisecond earns one of them. */
const COST = 1_000;
const PER_EXCHANGE = 200;
const SAVED_MAX = 20 * COST;

export class RetryBudget {
  readonly #clock: Clock;
  #saved = SAVED_MAX;
  #atMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#atMs = clock.nowMs();
  }

  /** An exchange makes its first attempt. */
  earn(): void {
    this.#saved = Math.min(SAVED_MAX, this.#saved + PER_EXCHANGE);
  }

  /** False when the budget is used up: the failure at hand is then the answer. */
  take(): boolean {
    const nowMs = this.#clock.nowMs();
    this.#saved = Math.min(SAVED_MAX, this.#saved + (nowMs - this.#atMs));
    this.#atMs = nowMs;
    if (this.#saved < COST) return false;
    this.#saved -= COST;
    return true;
  }
}
