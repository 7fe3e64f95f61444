/** Time for everything that decides about money or limits. It never runs backwards within a process. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  nowMs(): number;
  /**
   * The same without its jumps, for what lasts a time rather than until a time: holds, leases, rate windows, pauses. It says
   * how much time has passed; on a date it may be behind. Absent where the clock never jumps.
   */
  readonly steady?: Clock;
}

/** A wall clock that is ahead by more than this has jumped: the machine was suspended, or its time was set. */
const JUMP_MS = 1_000;

/**
 * The calendar: the wall clock at start, moved on by the monotonic clock, which a suspended machine stops. Where the wall
 * clock jumps ahead, the calendar follows at once, so that keys, promotions and periods end when their time has come. Where
 * it is set back, the calendar goes on as before.
 */
export class SystemClock implements Clock {
  readonly steady: Clock;
  readonly #wallMs: () => number;
  readonly #runMs: () => number;
  /** What the calendar shows when the monotonic clock shows 0. */
  #anchorMs: number;
  #jumps = 0;
  #jumpedMs = 0;

  constructor(wallMs: () => number = Date.now, runMs: () => number = () => performance.now()) {
    this.#wallMs = wallMs;
    this.#runMs = runMs;
    const startMs = wallMs() - runMs();
    this.#anchorMs = startMs;
    this.steady = { nowMs: () => Math.floor(startMs + runMs()) };
  }

  nowMs(): number {
    const nowMs = this.#anchorMs + this.#runMs();
    const aheadMs = this.#wallMs() - nowMs;
    if (aheadMs <= JUMP_MS) return Math.floor(nowMs);
    this.#anchorMs += aheadMs;
    this.#jumps += 1;
    this.#jumpedMs += aheadMs;
    return Math.floor(nowMs + aheadMs);
  }

  /** How often the wall clock has jumped ahead, and how far in all. */
  get jumped(): { readonly times: number; readonly ms: number } {
    return { times: this.#jumps, ms: Math.round(this.#jumpedMs) };
  }

  /** How far the wall clock was set back, so that the calendar is ahead of it; 0 where it was not. */
  get aheadMs(): number {
    const aheadMs = this.nowMs() - this.#wallMs();
    return aheadMs > JUMP_MS ? aheadMs : 0;
  }
}

export function systemClock(): SystemClock {
  return new SystemClock();
}
