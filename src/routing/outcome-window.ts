/** The results of recent calls, and whether they are bad enough to stop calling. */

const WINDOW_MS = 30_000;
const FAILURE_RATE_MIN = 0.5;

export interface OutcomeWindow {
  add(keyId: string, nowMs: number, failure: boolean): void;
  isBad(nowMs: number): boolean;
  clear(): void;
}

const BUCKETS = 6;
const FAILED_CALLS_MIN = 10;

/** The calls of one key, in a ring of buckets: of each its slot, its failures and all its calls. */
export class CallWindow implements OutcomeWindow {
  readonly #slots = new Uint32Array(BUCKETS);
  readonly #failures = new Uint32Array(BUCKETS);
  readonly #calls = new Uint32Array(BUCKETS);

  add(_keyId: string, nowMs: number, failure: boolean): void {
    const slot = slotOf(nowMs);
    const bucket = slot % BUCKETS;
    if (this.#slots[bucket] !== slot) this.#reset(bucket, slot);
    if (failure) this.#failures[bucket] = (this.#failures[bucket] ?? 0) + 1;
    this.#calls[bucket] = (this.#calls[bucket] ?? 0) + 1;
  }

  isBad(nowMs: number): boolean {
    const oldest = slotOf(nowMs) - BUCKETS;
    let failures = 0;
    let calls = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if ((this.#slots[bucket] ?? 0) <= oldest) continue;
      failures += this.#failures[bucket] ?? 0;
      calls += this.#calls[bucket] ?? 0;
    }
    return failures >= FAILED_CALLS_MIN && failures >= calls * FAILURE_RATE_MIN;
  }

  clear(): void {
    for (let bucket = 0; bucket < BUCKETS; bucket++) this.#reset(bucket, 0);
  }

  #reset(bucket: number, slot: number): void {
    this.#slots[bucket] = slot;
    this.#failures[bucket] = 0;
    this.#calls[bucket] = 0;
  }
}

function slotOf(nowMs: number): number {
  return Math.floor(nowMs / (WINDOW_MS / BUCKETS));
}

const FAILED_KEYS_MIN = 3;
const KEYS_MAX = 1_000;

/** The calls of all keys, of which each counts once, by its last outcome: no key alone can make the window bad. */
export class KeyWindow implements OutcomeWindow {
  readonly #succeededAtMs = new Map<string, number>();
  readonly #failedAtMs = new Map<string, number>();

  add(keyId: string, nowMs: number, failure: boolean): void {
    const [now, other] = failure ? [this.#failedAtMs, this.#succeededAtMs] : [this.#succeededAtMs, this.#failedAtMs];
    if (other.size > 0) other.delete(keyId);
    if (now.size >= KEYS_MAX && !now.has(keyId)) deleteOldest(now);
    now.set(keyId, nowMs);
  }

  isBad(nowMs: number): boolean {
    const failed = countSince(this.#failedAtMs, nowMs - WINDOW_MS);
    if (failed < FAILED_KEYS_MIN) return false;
    const all = failed + countSince(this.#succeededAtMs, nowMs - WINDOW_MS);
    return failed >= all * FAILURE_RATE_MIN;
  }

  clear(): void {
    this.#succeededAtMs.clear();
    this.#failedAtMs.clear();
  }
}

function deleteOldest(map: Map<string, number>): void {
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}

function countSince(map: ReadonlyMap<string, number>, sinceMs: number): number {
  let count = 0;
  for (const atMs of map.values()) if (atMs > sinceMs) count += 1;
  return count;
}
