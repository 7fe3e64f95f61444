/** One coarse timer for the deadlines of many, which move with nearly everything that happens. */
import { type Place, Roster } from './linked-list.ts';

export interface Bounded {
  /** In the time of `performance.now()`; infinite where nothing is waited for. */
  deadlineMs: number;
  /** Called when the deadline has passed, which is infinite by then. */
  expire(): void;
}

/** No more walks than this allows, however many deadlines lie close together. */
const STEP_MS = 20;
const STEP_MS_MAX = 60_000;

export class Deadlines<T extends Bounded> extends Roster<T> {
  #timer: NodeJS.Timeout | null = null;
  #nextWalkMs = Number.POSITIVE_INFINITY;

  override leave(place: Place<T>): void {
    super.leave(place);
    // It may be among those that a walk has still to visit.
    place.member.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Moves the deadline to `ms` from now. */
  set(member: T, ms: number): void {
    const nowMs = performance.now();
    member.deadlineMs = nowMs + ms;
    if (member.deadlineMs < this.#nextWalkMs) this.#wakeAt(member.deadlineMs, nowMs);
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
    for (const member of this.members()) {
      if (member.deadlineMs <= nowMs) {
        member.deadlineMs = Number.POSITIVE_INFINITY;
        member.expire();
      } else nextMs = Math.min(nextMs, member.deadlineMs);
    }
    if (nextMs < this.#nextWalkMs) this.#wakeAt(Math.max(nextMs, nowMs + STEP_MS), nowMs);
  }
}
