/**
 * Keys by digest, so that most requests are judged without a look-up. The cache may be stale: every admission names
 * the version it decided by, and the ledger has the last word.
 */
import type { CredentialScheme } from '../core/endpoints.ts';
import { digestOfKey, type KeyRecord } from '../core/key.ts';
import type { Ledger } from '../ledger/port.ts';

const KEYS_MAX = 100_000;
/** A header can spell one key in many ways; longer ones than any client needs are not kept. */
const HEADER_CHARACTERS_MAX = 80;

export class KeyCache {
  readonly #ledger: Pick<Ledger, 'findKey'>;
  /** Keys the digests of API keys. */
  readonly #installationSecret: string;
  readonly #byDigest = new Map<string, KeyRecord>();
  /**
   * The digests of keys that were found, by the header that named them, so that a busy key is neither read nor
   * digested for each of its requests: 0.15 µs instead of 1.3 µs, of the 167 µs of CPU that a request of workload W1
   * takes (November 2026). In memory only.
   */
  readonly #digests: Readonly<Record<CredentialScheme, Map<string, string>>> = {
    bearer: new Map(),
    'x-api-key': new Map(),
  };

  constructor(ledger: Pick<Ledger, 'findKey'>, installationSecret: string) {
    this.#ledger = ledger;
    this.#installationSecret = installationSecret;
  }

  /** The digest of the key in a header with this value, where such a header has led to a key before. */
  knownDigest(scheme: CredentialScheme, header: string): string | undefined {
    return this.#digests[scheme].get(header);
  }

  /** Null where the text can be no key. */
  digestOf(keyText: string, scheme: CredentialScheme, header: string): string | null {
    const digest = digestOfKey(this.#installationSecret, keyText);
    if (digest === null) return null;
    if (header.length <= HEADER_CHARACTERS_MAX && this.#byDigest.has(digest)) {
      const digests = this.#digests[scheme];
      if (digests.size >= KEYS_MAX) digests.clear();
      digests.set(header, digest);
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
    if (this.#byDigest.delete(digest)) for (const digests of Object.values(this.#digests)) digests.clear();
  }
}
