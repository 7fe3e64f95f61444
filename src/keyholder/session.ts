/**
 * The value of the page's cookie: sealed with a key that is derived from the installation's secret, so that every worker and
 * replica can open it and nobody keeps sessions, only those that were signed out. It names the digest of the secret that was
 * posted, never the secret; whether that secret still works is asked at each use.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { HOUR_MS } from '../core/time.ts';
import { openText, sealText } from '../lib/sealed-text.ts';

export const COOKIE = 'gateway_account';
export const LIFE_MS = HOUR_MS;
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
    return sealText(this.#key, JSON.stringify(session));
  }

  /** Null where the text was not sealed here, or has expired. */
  open(text: string, nowMs: number): HolderSession | null {
    const opened = openText(this.#key, text);
    if (opened === null) return null;
    // Nobody else can have sealed it.
    const session = JSON.parse(opened) as HolderSession;
    return session.endsAtMs > nowMs ? session : null;
  }
}
