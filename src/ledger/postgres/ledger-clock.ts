/**
 * The ledger's time is the database's clock, the same for all gateways. It never runs backwards: what a process has seen is
 * its floor, which its own monotonic clock moves on, and what an account has seen is the account's.
 */
import type { Clock } from '../../core/clock.ts';

/** A little slower than time, so that a process whose clock runs fast never pushes the others ahead. */
const FLOOR_SPEED = 0.999;

export class LedgerClock {
  readonly #clock: Clock | null;
  #seenMs = 0;
  #seenAtMs = 0;

  /** With a clock given, that one is the time instead. */
  constructor(clock: Clock | null) {
    this.#clock = clock;
  }

  /** What every function that needs the time takes: the time where it is given, and the floor. */
  values(): readonly [givenMs: number | null, floorMs: number] {
    if (this.#clock !== null) return [this.#clock.nowMs(), this.#seenMs];
    const elapsedMs = this.#seenMs === 0 ? 0 : (performance.now() - this.#seenAtMs) * FLOOR_SPEED;
    return [null, Math.floor(this.#seenMs + elapsedMs)];
  }

  saw(nowMs: number): void {
    if (nowMs < this.#seenMs) return;
    this.#seenMs = nowMs;
    this.#seenAtMs = performance.now();
  }
}
