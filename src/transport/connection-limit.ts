/** How many connections a listener serves, and what is logged when one could not be served. */
import type { Log } from '../core/log.ts';

/**
 * Connections beyond the limit that are still answered, each with a 503: a client must be able to read why. Further
 * ones are closed at once.
 */
export const REFUSED_CONNECTIONS_MAX = 64;
/** A flood of connections must not become a flood of lines. */
const LOG_INTERVAL_MS = 5_000;

export class ConnectionLimit {
  readonly #max: number;
  readonly #log: Log;
  readonly #nowMs: () => number;
  #refusalLoggedAtMs = Number.NEGATIVE_INFINITY;
  #acceptLoggedAtMs = Number.NEGATIVE_INFINITY;
  /** Since the last line. */
  #refused = 0;
  #acceptErrors = 0;

  constructor(max: number, log: Log, nowMs: () => number = () => performance.now()) {
    this.#max = max;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Whether a new connection is kept at all, if only to be refused; `open` others are. */
  mayKeep(open: number): boolean {
    if (open < this.#max + REFUSED_CONNECTIONS_MAX) return true;
    this.#logRefused();
    return false;
  }

  /** Whether a new connection is served; `served` others are, beside those that are refused. */
  mayServe(served: number): boolean {
    if (served < this.#max) return true;
    this.#logRefused();
    return false;
  }

  acceptFailed(err: Error): void {
    this.#acceptErrors += 1;
    const nowMs = this.#nowMs();
    if (nowMs - this.#acceptLoggedAtMs < LOG_INTERVAL_MS) return;
    this.#log.error({ err, failures: this.#acceptErrors }, 'a connection could not be accepted');
    this.#acceptLoggedAtMs = nowMs;
    this.#acceptErrors = 0;
  }

  #logRefused(): void {
    this.#refused += 1;
    const nowMs = this.#nowMs();
    if (nowMs - this.#refusalLoggedAtMs < LOG_INTERVAL_MS) return;
    const message = 'connections were refused: as many are open as can be served (limits.connections)';
    this.#log.warn({ limit: this.#max, refused: this.#refused }, message);
    this.#refusalLoggedAtMs = nowMs;
    this.#refused = 0;
  }
}
