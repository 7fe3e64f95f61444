/**
 * Keys by digest, so that most requests are judged without a look-up. The cache may be stale: every admission names
 * the version it decided by, and the ledger has the last word.
 */
import type { KeyRecord } from '../core/key.ts';
import type { Ledger } from '../ledger/port.ts';

const KEYS_MAX = 100_000;

export class KeyCache {
  readonly #ledger: Pick<Ledger, 'findKey'>;
  readonly #byDigest = new Map<string, KeyRecord>();

  constructor(ledger: Pick<Ledger, 'findKey'>) {
    this.#ledger = ledger;
  }

  cached(digest: string): KeyRecord | undefined {
    return this.#byDigest.get(digest);
  }

  async fetch(digest: string): Promise<KeyRecord | null> {
    const key = await this.#ledger.findKey(digest);
    if (key) this.remember(digest, key);
    else this.#byDigest.delete(digest);
    return key;
  }

  remember(digest: string, key: KeyRecord): void {
    if (this.#byDigest.size >= KEYS_MAX) {
      // The map keeps insertion order, so the first key is the one that was read longest ago.
      const oldest = this.#byDigest.keys().next();
      if (!oldest.done) this.#byDigest.delete(oldest.value);
    }
    this.#byDigest.set(digest, key);
  }
}
