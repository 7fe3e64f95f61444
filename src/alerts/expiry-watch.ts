/** Which keys will expire, in use or not: asked for by an index, a page at a time, once in an hour. */
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import type { KeyExpiry, LedgerAdmin } from '../ledger/port.ts';

const PASS_MS = HOUR_MS;
const PAGE = 1_000;
const KNOWN_MAX = 100_000;
const EXPIRY_DAYS = [1, 7] as const;
const DAYS_MAX = Math.max(...EXPIRY_DAYS);

/** So many days before it expires somebody is told; null where it is too early, or too late. */
export function daysToExpiry(expiresAtMs: number, nowMs: number): number | null {
  if (expiresAtMs <= nowMs) return null;
  return EXPIRY_DAYS.find((days) => expiresAtMs - nowMs <= days * DAY_MS) ?? null;
}

export class ExpiryWatch {
  readonly #ledger: Pick<LedgerAdmin, 'expiringKeys'>;
  /** Up to where the pass is; null between two of them. */
  #at: KeyExpiry | null = null;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  /** What was found before, so that a key is looked at once for each of the days. */
  #known = new Set<string>();

  constructor(ledger: Pick<LedgerAdmin, 'expiringKeys'>) {
    this.#ledger = ledger;
  }

  forget(): void {
    this.#at = null;
    this.#startedAtMs = Number.NEGATIVE_INFINITY;
    this.#known = new Set();
  }

  /** Keys that somebody is to be told of. */
  async next(nowMs: number): Promise<readonly string[]> {
    if (this.#at === null) {
      if (nowMs - this.#startedAtMs < PASS_MS) return [];
      this.#startedAtMs = nowMs;
      this.#at = { atMs: nowMs, keyId: '' };
    }
    const page = await this.#ledger.expiringKeys(this.#at, nowMs + DAYS_MAX * DAY_MS, PAGE);
    this.#at = page.length < PAGE ? null : (page.at(-1) ?? null);
    if (this.#known.size > KNOWN_MAX) this.#known.clear();
    return page.filter((expiry) => this.#isNew(expiry, nowMs)).map(({ keyId }) => keyId);
  }

  #isNew({ keyId, atMs }: KeyExpiry, nowMs: number): boolean {
    const name = `${keyId} ${atMs} ${daysToExpiry(atMs, nowMs)}`;
    if (this.#known.has(name)) return false;
    this.#known.add(name);
    return true;
  }
}
