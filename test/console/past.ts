/** A gateway in this process that begins in the past: its clock is moved forward between requests, up to the present. */

export interface Past {
  /** Lets time pass for everything in this process. */
  forward(ms: number): void;
  /** Back to the clock of the machine. */
  present(): void;
}

/** Before the gateway is started, whose clock is the time of its start and what `performance` has counted since. */
export function beginInThePast(agoMs: number): Past {
  const [date, counter] = [Date.now, performance.now];
  let passedMs = 0;
  Date.now = () => date.call(Date) - agoMs + passedMs;
  performance.now = () => counter.call(performance) + passedMs;
  return {
    forward: (ms) => {
      passedMs = Math.min(agoMs, passedMs + ms);
    },
    present: () => {
      passedMs = agoMs;
      Date.now = date;
    },
  };
}
