/** What a simulated schedule runs on: one backend, and what can happen to it. */
import type { Clock } from '../../src/core/clock.ts';
import type { Operation, Result } from '../../src/ledger/operations.ts';

/**
 * `refused`: the store fails before anything is applied. `lost`: the batch is applied, its acknowledgement is not seen.
 * `full`: the disk has no room for one page more. `crash_*`: the process dies before the batch, in the middle of its
 * commit, or right after it.
 */
export type Fault = 'none' | 'refused' | 'lost' | 'full' | 'crash_before' | 'crash_inside' | 'crash_after';

export interface Applied {
  /** Whether the books have taken the batch. */
  readonly applied: boolean;
  /** What the caller got to see; null when it saw a failure, or nothing at all. */
  readonly results: readonly Result[] | null;
}

/** What a process leaves behind that decides admissions in memory. */
export interface Survivors {
  /** Every hold that the books know, whether it is live or not: the key's id, a space, its own. */
  readonly holds: ReadonlySet<string>;
  /** Per key, when requests took their place in the rate limit. */
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** Per key, what its limit on tokens per minute counted. */
  readonly tokens: ReadonlyMap<string, readonly { readonly atMs: number; readonly tokens: number }[]>;
}

export interface World {
  /** `cut` says how much of a commit that is torn reaches the disk, from 0 to 99 in a hundred. */
  apply(batch: readonly Operation[], fault: Fault, cut: number): Promise<Applied>;
  /**
   * A new process on the same books, by the clock as it now is. After a `crash_*` it is the only thing to do. Tells what the
   * one before has left, where it may have kept something to itself.
   */
  restart(): Promise<Survivors | null>;
  close(): Promise<void>;
}

export interface Backend {
  readonly name: string;
  /**
   * Whether one process has the books for itself: then a new one knows that all others are dead, brings its own clock, and
   * applies a batch strictly in its order. Where they are shared, time is the server's, and signs of life go first.
   */
  readonly exclusive: boolean;
  /** Fresh books. */
  open(clock: Clock): Promise<World>;
}
