/**
 * Time for everything that decides about money or limits: the wall clock at start, moved on by the monotonic
 * clock. A wall clock that jumps while the process runs changes nothing here.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch; never runs backwards within a process. */
  nowMs(): number;
}

export function systemClock(): Clock {
  const anchorMs = Date.now() - performance.now();
  return { nowMs: () => Math.floor(anchorMs + performance.now()) };
}
