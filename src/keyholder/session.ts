/**
 * The value of the page's cookie: sealed with a key that is derived from the installation's secret, so that every worker and
 * replica can open it and nobody keeps sessions, only those that were signed out. It names the digest of the secret that was
 * posted, never the secret; whether that secret still works is asked at each use.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { HOUR_MS } from '../core/time.ts';

export const COOKIE = 'gateway_account';
export const LIFE_MS = HOUR_MS;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 16;

export interface HolderSession {
  readonly id: string;
  readonly digest: string;
  /** The first characters of the secret. */
  readonly prefix: string;
  readonly endsAtMs: number;
}

export class SealedSessions {
  readonly #key: Buffer;

  constructor(installationSecret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'model-gateway account page', 32));
  }

  /** A session that begins now. */
  seal(digest: string, prefix: string, nowMs: number): string {
    const session = { id: randomBytes(ID_BYTES).toString('base64url'), digest, prefix, endsAtMs: nowMs + LIFE_MS };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Null where the text was not sealed here, or has expired. */
  open(text: string, nowMs: number): HolderSession | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      // Nobody else can have sealed it.
      const session = JSON.parse(opened.toString()) as HolderSession;
      return session.endsAtMs > nowMs ? session : null;
    } catch {
      return null;
    }
  }
}
