/** One coarse timer for the deadlines of many, which move with nearly everything that happens. */
import { LinkedList, type Node } from './linked-list.ts';

export interface HasDeadline {
  /** In the time of `performance.now()`; infinite where nothing is waited for. */
  deadlineMs: number;
  /** Called when the deadline has passed, which is infinite by then. */
  expire(): void;
}

/** No more than one sweep in this long, however many deadlines lie close together. */
const STEP_MS = 20;
const STEP_MS_MAX = 60_000;

export class DeadlineTimer<T extends HasDeadline> extends LinkedList<T> {
  #timer: NodeJS.Timeout | null = null;
  #nextSweepMs = Number.POSITIVE_INFINITY;

  override remove(node: Node<T>): void {
    super.remove(node);
    // It may be among those that a sweep has still to visit.
    node.value.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Moves the deadline to `ms` from now. */
  set(value: T, ms: number): void {
    const nowMs = performance.now();
    value.deadlineMs = nowMs + ms;
    if (value.deadlineMs < this.#nextSweepMs) this.#wakeAt(value.deadlineMs, nowMs);
  }

  #wakeAt(atMs: number, nowMs: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    const waitMs = Math.min(Math.ceil(atMs - nowMs), STEP_MS_MAX);
    this.#nextSweepMs = nowMs + waitMs;
    // Whatever is waited for keeps the process alive by itself. What the kernel has received is read before anything is
    // given up: a process that was held up must not take its own pause for the silence of others.
    this.#timer = setTimeout(() => setImmediate(() => this.#sweep()), waitMs).unref();
  }

  #sweep(): void {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    this.#nextSweepMs = Number.POSITIVE_INFINITY;
    for (const value of this.values()) {
      if (value.deadlineMs <= nowMs) {
        value.deadlineMs = Number.POSITIVE_INFINITY;
        value.expire();
      } else nextMs = Math.min(nextMs, value.deadlineMs);
    }
    if (nextMs < this.#nextSweepMs) this.#wakeAt(Math.max(nextMs, nowMs + STEP_MS), nowMs);
  }
}
