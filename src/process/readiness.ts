/** Whether the gateway can serve now: `/readyz`. */
import type { Ledger } from '../ledger/port.ts';

/** A store that takes longer than this to answer a lookup cannot serve requests. */
const READ_TIMEOUT_MS = 2_000;
/** The route needs no credential: however often it is asked, the store is not read more often than this. */
const READ_INTERVAL_MS = 250;
/** No key has this digest. */
const NO_DIGEST = '';

interface ReadinessOptions {
  readonly ledger: Pick<Ledger, 'findKey'>;
  /** Whether the store took the last background step, and the gateway does not drain. */
  serving(): boolean;
  readonly timeoutMs?: number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #nowMs: () => number;
  #reading: Promise<boolean> | null = null;
  #readable = false;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** True only after the store has really been read; false within a bounded time otherwise. */
  async ready(): Promise<boolean> {
    if (!this.#options.serving()) return false;
    if (this.#nowMs() - this.#readAtMs >= READ_INTERVAL_MS) await this.#read();
    // Meanwhile a drain may have begun.
    return this.#readable && this.#options.serving();
  }

  #read(): Promise<boolean> {
    this.#reading ??= this.#lookUp().then((readable) => {
      this.#readable = readable;
      this.#readAtMs = this.#nowMs();
      this.#reading = null;
      return readable;
    });
    return this.#reading;
  }

  #lookUp(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.#options.timeoutMs ?? READ_TIMEOUT_MS);
      this.#options.ledger
        .findKey(NO_DIGEST)
        .then(
          () => resolve(true),
          () => resolve(false),
        )
        .finally(() => clearTimeout(timer));
    });
  }
}
