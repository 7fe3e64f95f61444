/**
 * The circuit breaker of one target. It opens when its window holds enough failures and they are most of what the
 * window holds; after a while it lets one call through as a probe, and that call decides.
 */

const WINDOW_MS = 30_000;
const BUCKETS = 6;
const FAILURES_MIN = 10;
const FAILURE_RATE_MIN = 0.5;
const OPEN_FIRST_MS = 5_000;
const OPEN_MAX_MS = 60_000;

/** `due`: open, but the next call is to be a probe. */
export type CircuitState = 'closed' | 'open' | 'due';

export class Circuit {
  readonly #window = new OutcomeWindow();
  #openedAtMs: number | null = null;
  #openForMs = 0;
  #probeAtMs: number | null = null;

  /** Null while it is closed. */
  get openedAtMs(): number | null {
    return this.#openedAtMs;
  }

  state(nowMs: number): CircuitState {
    if (this.#openedAtMs === null) return 'closed';
    return this.#probeAtMs === null && nowMs >= this.#openedAtMs + this.#openForMs ? 'due' : 'open';
  }

  /** A call begins. True when it is the probe, whose end must then be reported with `succeeded`, `failed` or `cancelled`. */
  begun(nowMs: number): boolean {
    if (this.state(nowMs) !== 'due') return false;
    this.#probeAtMs = nowMs;
    return true;
  }

  succeeded(begunAtMs: number, nowMs: number): void {
    this.#window.add(nowMs, false);
    // Only a call that began after the circuit opened says anything about how the target does now.
    if (this.#openedAtMs === null || begunAtMs < this.#openedAtMs) return;
    this.#openedAtMs = null;
    this.#openForMs = 0;
    this.#probeAtMs = null;
    this.#window.clear();
  }

  failed(probe: boolean, nowMs: number): void {
    this.#window.add(nowMs, true);
    if (probe) this.#open(nowMs);
    else if (this.#openedAtMs === null && this.#window.isBad(nowMs)) this.#open(nowMs);
  }

  /** A probe ended without saying anything about the target: the next call is one. */
  cancelled(): void {
    this.#probeAtMs = null;
  }

  #open(nowMs: number): void {
    this.#openForMs = Math.min(OPEN_MAX_MS, this.#openForMs === 0 ? OPEN_FIRST_MS : this.#openForMs * 2);
    this.#openedAtMs = nowMs;
    this.#probeAtMs = null;
  }
}

interface Bucket {
  slot: number;
  successes: number;
  failures: number;
}

/** Outcomes of the last while, in a ring of buckets. */
class OutcomeWindow {
  readonly #ring: Bucket[] = Array.from({ length: BUCKETS }, () => ({ slot: -1, successes: 0, failures: 0 }));

  add(nowMs: number, failure: boolean): void {
    const slot = slotOf(nowMs);
    const bucket = this.#ring[slot % BUCKETS];
    if (!bucket) return;
    if (bucket.slot !== slot) Object.assign(bucket, { slot, successes: 0, failures: 0 });
    if (failure) bucket.failures += 1;
    else bucket.successes += 1;
  }

  isBad(nowMs: number): boolean {
    let failures = 0;
    let all = 0;
    for (const bucket of this.#ring) {
      if (bucket.slot <= slotOf(nowMs) - BUCKETS) continue;
      failures += bucket.failures;
      all += bucket.failures + bucket.successes;
    }
    return failures >= FAILURES_MIN && failures >= all * FAILURE_RATE_MIN;
  }

  clear(): void {
    for (const bucket of this.#ring) bucket.slot = -1;
  }
}

function slotOf(nowMs: number): number {
  return Math.floor(nowMs / (WINDOW_MS / BUCKETS));
}
