/** One coarse timer for the deadlines of many connections, which move with nearly every byte. */

export interface Bounded {
  /** In the time of `performance.now()`; infinite where nothing is waited for. */
  deadlineMs: number;
  /** Called once the deadline has passed. */
  expire(): void;
}

/** No more walks than this allows, however many deadlines lie close together. */
const STEP_MS = 20;
const STEP_MS_MAX = 60_000;

export class Deadlines {
  readonly #bounded = new Set<Bounded>();
  #timer: NodeJS.Timeout | null = null;
  #nextWalkMs = Number.POSITIVE_INFINITY;

  add(bounded: Bounded): void {
    this.#bounded.add(bounded);
  }

  delete(bounded: Bounded): void {
    this.#bounded.delete(bounded);
  }

  /** Moves the deadline to `ms` from now. */
  set(bounded: Bounded, ms: number): void {
    const nowMs = performance.now();
    bounded.deadlineMs = nowMs + ms;
    if (bounded.deadlineMs < this.#nextWalkMs) this.#wakeAt(bounded.deadlineMs, nowMs);
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    const waitMs = Math.min(Math.ceil(atMs - nowMs), STEP_MS_MAX);
    this.#nextWalkMs = nowMs + waitMs;
    // Whatever is waited for keeps the process alive by itself. What the kernel has received is read before anything is
    // given up: a process that was held up must not take its own pause for the silence of others.
    this.#timer = setTimeout(() => setImmediate(() => this.#walk()), waitMs).unref();
  }

  #walk(): void {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    this.#nextWalkMs = Number.POSITIVE_INFINITY;
    for (const bounded of this.#bounded) {
      if (bounded.deadlineMs <= nowMs) bounded.expire();
      else nextMs = Math.min(nextMs, bounded.deadlineMs);
    }
    if (nextMs < this.#nextWalkMs) this.#wakeAt(Math.max(nextMs, nowMs + STEP_MS), nowMs);
  }
}
