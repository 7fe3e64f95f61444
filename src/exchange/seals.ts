/** Summaries of conversations, sealed for the key that they were made for; every worker and replica can open them. */
import { hkdfSync } from 'node:crypto';
import { openText, sealText } from '../lib/sealed-text.ts';

export class Seals {
  readonly #installationSecret: string;

  constructor(installationSecret: string) {
    this.#installationSecret = installationSecret;
  }

  /** For one request: what it seals with is derived when it is first needed. */
  of(keyId: string): KeySeal {
    return new KeySeal(this.#installationSecret, keyId);
  }
}

export class KeySeal {
  readonly #installationSecret: string;
  readonly #keyId: string;
  #derived: Uint8Array | null = null;

  constructor(installationSecret: string, keyId: string) {
    this.#installationSecret = installationSecret;
    this.#keyId = keyId;
  }

  seal(text: string): string {
    return sealText(this.#key, text);
  }

  /** Null where it was not sealed for this key. */
  open(sealed: string): string | null {
    return openText(this.#key, sealed);
  }

  get #key(): Uint8Array {
    this.#derived ??= new Uint8Array(
      hkdfSync('sha256', this.#installationSecret, this.#keyId, 'model-gateway compaction', 32),
    );
    return this.#derived;
  }
}
