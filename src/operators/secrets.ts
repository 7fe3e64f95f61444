/** Secrets of operators: made here, shown once, and stored as digests that are keyed with the installation's secret. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CredentialKind } from './port.ts';

/** The beginning says what it is, so that one that leaked can be recognised by scanners. */
const MARKS: Readonly<Record<CredentialKind, string>> = { token: 'mg_o_', sign_in: 'mg_l_', session: '' };
const RANDOM_BYTES = 32;
/** More than any of them has; a longer text is not even digested. */
const LENGTH_MAX = 100;

export function newSecret(kind: CredentialKind): string {
  return `${MARKS[kind]}${randomBytes(RANDOM_BYTES).toString('base64url')}`;
}

/** Null for a text that cannot be a secret of this kind. A secret of one kind is never one of another. */
export function secretDigest(installationSecret: string, kind: CredentialKind, text: string): string | null {
  if (text.length > LENGTH_MAX || !text.startsWith(MARKS[kind])) return null;
  return createHmac('sha256', installationSecret).update(`operator ${kind}:${text}`).digest('base64');
}

/** In constant time. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A reply may hold a secret that is shown once. What is kept of it can be read only by who sends the same
 * `Idempotency-Key` again: the key itself is not stored.
 */
export function seal(installationSecret: string, idempotencyKey: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, sealingKey(installationSecret, idempotencyKey), nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64');
}

export function unseal(installationSecret: string, idempotencyKey: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, sealingKey(installationSecret, idempotencyKey), nonce);
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return text.toString('utf8');
}

function sealingKey(installationSecret: string, idempotencyKey: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', installationSecret, idempotencyKey, 'stored reply', 32));
}
