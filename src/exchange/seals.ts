/** Summaries of conversations, sealed for the key that they were made for; every worker and replica can open them. */
import { hkdfSync } from 'node:crypto';
import { openText, sealText } from '../lib/sealed-text.ts';

export class Seals {
  readonly #installationSecret: string;

  constructor(installationSecret: string) {
    this.#installationSecret = installationSecret;
  }

  seal(keyId: string, text: string): string {
    return sealText(this.#keyFor(keyId), text);
  }

  /** Null where it was not sealed for this key. */
  open(keyId: string, sealed: string): string | null {
    return openText(this.#keyFor(keyId), sealed);
  }

  #keyFor(keyId: string): Uint8Array {
    return new Uint8Array(hkdfSync('sha256', this.#installationSecret, keyId, 'model-gateway compaction', 32));
  }
}
