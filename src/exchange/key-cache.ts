/**
 * Keys by digest, so that most requests are judged without a look-up. The cache may be stale: every admission names
 * the version it decided by, and the ledger has the last word.
 */
import { isKeyText, type KeyRecord, keyDigest } from '../core/key.ts';
import type { Ledger } from '../ledger/port.ts';

const KEYS_MAX = 100_000;

export class KeyCache {
  readonly #ledger: Pick<Ledger, 'findKey'>;
  /** Keys the digests of API keys. */
  readonly #installationSecret: string;
  readonly #byDigest = new Map<string, KeyRecord>();
  /** Of keys that were found, so that a busy one is not digested for each of its requests. In memory only. */
  readonly #digests = new Map<string, string>();

  constructor(ledger: Pick<Ledger, 'findKey'>, installationSecret: string) {
    this.#ledger = ledger;
    this.#installationSecret = installationSecret;
  }

  /** Null where the text can be no key. */
  digestOf(keyText: string): string | null {
    const known = this.#digests.get(keyText);
    if (known !== undefined) return known;
    if (!isKeyText(keyText)) return null;
    const digest = keyDigest(this.#installationSecret, keyText);
    if (this.#byDigest.has(digest)) {
      if (this.#digests.size >= KEYS_MAX) this.#digests.clear();
      this.#digests.set(keyText, digest);
    }
    return digest;
  }

  cached(digest: string): KeyRecord | undefined {
    return this.#byDigest.get(digest);
  }

  async fetch(digest: string): Promise<KeyRecord | null> {
    const key = await this.#ledger.findKey(digest);
    if (key) this.remember(digest, key);
    else this.#forget(digest);
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

  #forget(digest: string): void {
    if (this.#byDigest.delete(digest)) this.#digests.clear();
  }
}
