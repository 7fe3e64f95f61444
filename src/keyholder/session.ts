/**
 * The cookie of the key holder's page: sealed with a key that is derived from the installation's secret, so that every
 * worker and replica can open it and nobody keeps sessions, only those that were signed out. It names the digest of the
 * secret that was posted, never the secret; whether that secret still works is asked at each use.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { HOUR_MS } from '../core/time.ts';
import { isObject, numberAt, parseJson, stringAt } from '../lib/json.ts';

const COOKIE = 'gateway_account';
const PATH = '/account';
const LIFE_MS = HOUR_MS;
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

export class SessionCookies {
  readonly #key: Buffer;
  readonly #secure: boolean;

  /** `secure`: whether browsers reach the page by TLS only. */
  constructor(installationSecret: string, secure: boolean) {
    this.#key = Buffer.from(hkdfSync('sha256', installationSecret, '', 'model-gateway account page', 32));
    this.#secure = secure;
  }

  /** The value of `Set-Cookie` for a session that begins now. */
  issue(digest: string, prefix: string, nowMs: number): string {
    const session = { id: randomBytes(ID_BYTES).toString('base64url'), digest, prefix, endsAtMs: nowMs + LIFE_MS };
    return this.#cookie(this.#seal(session), LIFE_MS / 1_000);
  }

  /** Takes the cookie away again. */
  clear(): string {
    return this.#cookie('', 0);
  }

  /** Null where the header has no cookie of this page that was sealed here and has not expired. */
  read(header: string | null, nowMs: number): HolderSession | null {
    for (const part of (header ?? '').split(';')) {
      const [name, value = ''] = part.trim().split('=', 2);
      const session = name === COOKIE ? this.#open(value) : null;
      if (session !== null && session.endsAtMs > nowMs) return session;
    }
    return null;
  }

  #seal(session: HolderSession): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  #open(text: string): HolderSession | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return sessionIn(parseJson(opened.toString()));
    } catch {
      return null;
    }
  }

  #cookie(value: string, maxAgeS: number): string {
    const secure = this.#secure ? '; Secure' : '';
    return `${COOKIE}=${value}; Path=${PATH}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
  }
}

function sessionIn(value: unknown): HolderSession | null {
  if (!isObject(value)) return null;
  const [id, digest, prefix] = ['id', 'digest', 'prefix'].map((name) => stringAt(value, name));
  const endsAtMs = numberAt(value, 'endsAtMs');
  if (id === undefined || digest === undefined || prefix === undefined || endsAtMs === undefined) return null;
  return { id, digest, prefix, endsAtMs };
}
