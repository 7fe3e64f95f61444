/** How often an address may post keys that do not exist. Each serving thread counts for itself. */
const WINDOW_MS = 60_000;
const FAILURES_MAX = 10;
const ADDRESSES_MAX = 10_000;

export class SignInThrottle {
  readonly #failures = new Map<string, { readonly sinceMs: number; readonly count: number }>();

  /** How long the address has to wait; 0 where it need not. */
  waitMs(address: string, nowMs: number): number {
    const found = this.#failures.get(address);
    if (found === undefined || found.count < FAILURES_MAX) return 0;
    return Math.max(0, found.sinceMs + WINDOW_MS - nowMs);
  }

  failed(address: string, nowMs: number): void {
    const found = this.#failures.get(address);
    const current = found !== undefined && found.sinceMs + WINDOW_MS > nowMs ? found : { sinceMs: nowMs, count: 0 };
    // The map keeps insertion order: the first has been there the longest.
    this.#failures.delete(address);
    const oldest = this.#failures.keys().next();
    if (this.#failures.size >= ADDRESSES_MAX && !oldest.done) this.#failures.delete(oldest.value);
    this.#failures.set(address, { ...current, count: current.count + 1 });
  }
}
