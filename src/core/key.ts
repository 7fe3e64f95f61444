/** The caller's key: its text, its state, and what it may do. */
import { createHmac, hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { InheritedLimits, RateLimits, Restrictions } from './limits.ts';
import type { Period } from './period.ts';

export type Mode = 'credit' | 'token_budget';
/** What is stored. `expired` is derived from `expiresAtMs`, never stored. */
export type StoredStatus = 'active' | 'suspended' | 'disabled' | 'revoked';
export type KeyStatus = StoredStatus | 'expired';

/** Everything about a key but its balance and its secrets. */
export interface KeyRecord extends RateLimits, Restrictions {
  readonly id: string;
  /** Increases with every change of the key, so that admission notices a decision based on an old copy. */
  readonly version: number;
  readonly mode: Mode;
  readonly label: string | null;
  readonly status: StoredStatus;
  readonly expiresAtMs: number | null;
  /** A provider's name, or `all`. */
  readonly providerScope: string;
  /** Token budget per period; null means unlimited. Always null for credit keys. */
  readonly budget: bigint | null;
  readonly period: Period;
  /** The account that it belongs to, whose root pays for it; null for a key that pays for itself. */
  readonly accountId: string | null;
  /** The most that a credit key of an account may spend in its period, in nanos; null means no cap of its own. */
  readonly cap: bigint | null;
  /** Of the accounts above it that limit something of this, from the nearest to the root: a copy, so that none is read. */
  readonly inherited: readonly InheritedLimits[];
  /** For how many days the content of its requests is kept; null: it is not. */
  readonly captureDays: number | null;
  readonly createdAtMs: number;
  /** The first twelve characters of the newest secret. */
  readonly prefix: string;
}

/** Responses in the background that a key may have at a time, where nobody says otherwise. */
export const RUNS_LIMIT = 16;

/** What a new key has unless its maker says otherwise. */
export const NEW_KEY = {
  accountId: null,
  cap: null,
  captureDays: null,
  runsLimit: RUNS_LIMIT,
} as const satisfies Partial<KeyRecord>;

export function keyStatus(key: Pick<KeyRecord, 'status' | 'expiresAtMs'>, nowMs: number): KeyStatus {
  if (key.status === 'active' && key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return 'expired';
  return key.status;
}

const STATUS_MOVES: Readonly<Record<StoredStatus, readonly StoredStatus[]>> = {
  active: ['suspended', 'disabled', 'revoked'],
  suspended: ['active', 'disabled', 'revoked'],
  disabled: ['active', 'suspended', 'revoked'],
  revoked: [],
};

export function mayMoveStatus(from: StoredStatus, to: StoredStatus): boolean {
  return from === to || STATUS_MOVES[from].includes(to);
}

const PREFIX_LENGTH = 12;
/** Of a text that may be short: most of it stays secret. */
const FOREIGN_PREFIX_LENGTH = 7;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 34 characters of 62 carry 202 random bits. */
const RANDOM_CHARACTERS = 34;
const CHECKSUM_CHARACTERS = 6;
const KEY_TEXT = /^mg_[ct]_[0-9A-Za-z]{40}$/;
const MODES: readonly Mode[] = ['credit', 'token_budget'];
const MODE_MARK: Readonly<Record<Mode, string>> = { credit: 'mg_c_', token_budget: 'mg_t_' };

export function newKeyText(mode: Mode): string {
  return keyTextFrom(mode, () => randomBytes(48));
}

/** Always the same for the same bytes, which must be secret and random: 256 of them are enough. */
export function derivedKeyText(mode: Mode, seed: Buffer): string {
  return keyTextFrom(mode, () => seed);
}

function keyTextFrom(mode: Mode, more: () => Buffer): string {
  let body = MODE_MARK[mode];
  while (body.length < MODE_MARK[mode].length + RANDOM_CHARACTERS) {
    // Bytes from 248 up would favour the alphabet's first characters.
    for (const byte of more()) {
      if (byte < 248 && body.length < MODE_MARK[mode].length + RANDOM_CHARACTERS) body += ALPHABET[byte % 62];
    }
  }
  return body + checksum(body);
}

/** A text that another gateway has made, taken over by an import. Without a checksum only its shape can be told. */
const FOREIGN_TEXT = /^(?!mg_)[!-~]{20,200}$/;

/** What is shown of a key, and recognised by. */
export function keyPrefix(keyText: string): string {
  return keyText.slice(0, FOREIGN_TEXT.test(keyText) ? FOREIGN_PREFIX_LENGTH : PREFIX_LENGTH);
}

export function modeOfKeyText(keyText: string): Mode | null {
  return MODES.find((mode) => keyText.startsWith(MODE_MARK[mode])) ?? null;
}

/** Under which the key with this text is stored, whoever has made it; null where the text can be no key. */
export function digestOfKey(installationSecret: string, keyText: string): string | null {
  if (isKeyText(keyText)) return keyDigest(installationSecret, keyText);
  if (!FOREIGN_TEXT.test(keyText)) return null;
  // Of any length, so that what is said of `keyDigest` does not hold.
  return createHmac('sha256', installationSecret).update(keyText).digest('base64');
}

/** Whether the text can be a key of this gateway at all: shape and checksum. Refuses a mistyped key without a look-up. */
export function isKeyText(text: string): boolean {
  return KEY_TEXT.test(text) && checksum(text.slice(0, -CHECKSUM_CHARACTERS)) === text.slice(-CHECKSUM_CHARACTERS);
}

/**
 * The stored form of a key: a digest keyed with the installation's secret. The digest never leaves the store and its
 * input has one fixed length, so the prefix construction is as safe as an HMAC here at half the cost.
 */
export function keyDigest(installationSecret: string, keyText: string): string {
  return hash('sha256', `${installationSecret}:${keyText}`, 'base64');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let out = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    out = ALPHABET[rest % 62] + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
