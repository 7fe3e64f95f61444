/**
 * A circuit breaker. It opens when its window of outcomes is bad; after a while it lets one call through as a probe, and
 * that call decides.
 */
import type { OutcomeWindow } from './outcome-window.ts';

const OPEN_FIRST_MS = 5_000;
const OPEN_MAX_MS = 60_000;

/** `due`: open, but the next call is to be a probe. */
export type CircuitState = 'closed' | 'open' | 'due';

export class Circuit {
  readonly #window: OutcomeWindow;
  #openedAtMs: number | null = null;
  #openForMs = 0;
  #probeAtMs: number | null = null;

  constructor(window: OutcomeWindow) {
    this.#window = window;
  }

  /** Null while it is closed. */
  get openedAtMs(): number | null {
    return this.#openedAtMs;
  }

  state(nowMs: number): CircuitState {
    if (this.#openedAtMs === null) return 'closed';
    return this.#probeAtMs === null && nowMs >= this.#openedAtMs + this.#openForMs ? 'due' : 'open';
  }

  /** How long it stays open before the next probe; 0 where a call may be made now. */
  dueInMs(nowMs: number): number {
    return this.#openedAtMs === null ? 0 : Math.max(0, this.#openedAtMs + this.#openForMs - nowMs);
  }

  /** A call begins. True when it is the probe, whose end must then be reported with `succeeded`, `failed` or `cancelled`. */
  begun(nowMs: number): boolean {
    if (this.state(nowMs) !== 'due') return false;
    this.#probeAtMs = nowMs;
    return true;
  }

  succeeded(keyId: string, begunAtMs: number, nowMs: number): void {
    this.#window.add(keyId, nowMs, false);
    // Only a call that began after the circuit opened says anything about how the target does now.
    if (this.#openedAtMs === null || begunAtMs < this.#openedAtMs) return;
    this.#openedAtMs = null;
    this.#openForMs = 0;
    this.#probeAtMs = null;
    this.#window.clear();
  }

  failed(keyId: string, probe: boolean, nowMs: number): void {
    this.#window.add(keyId, nowMs, true);
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
