/** Certificates that sign themselves: X.509 version 3 with an ECDSA key on P-256, as RFC 5280 writes it. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

export interface SelfSigned {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

interface Wanted {
  /** Host names, IPv4 and IPv6 addresses; the first is also the name of its subject. */
  readonly names: readonly [string, ...string[]];
  readonly fromMs: number;
  readonly untilMs: number;
  /** Whether it may be used to check other certificates, which a server's own must not. */
  readonly authority: boolean;
}

const SERIAL_BYTES = 16;

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
const octets = (...parts: readonly Uint8Array[]): Buffer => der(0x04, ...parts);
const object = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const integer = (...bytes: readonly number[]): Buffer => der(0x02, Buffer.of(...bytes));
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes);
const context = (tag: number, ...parts: readonly Uint8Array[]): Buffer => der(0xa0 + tag, ...parts);

const ECDSA_WITH_SHA256 = sequence(object('2a8648ce3d040302'));
const COMMON_NAME = object('550403');
const SUBJECT_ALT_NAME = object('551d11');
const BASIC_CONSTRAINTS = object('551d13');
const EXTENDED_KEY_USAGE = object('551d25');
const SERVER_AUTH = object('2b06010505070301');
const TRUE = der(0x01, Buffer.of(0xff));

export function selfSigned({ names, fromMs, untilMs, authority }: Wanted): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(set(sequence(COMMON_NAME, der(0x0c, Buffer.from(names[0])))));
  const [first = 0, ...serial] = randomBytes(SERIAL_BYTES);
  const body = sequence(
    context(0, integer(2)),
    // Positive, and without a zero in front.
    integer((first & 0x7f) | 0x40, ...serial),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(fromMs), time(untilMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    context(
      3,
      sequence(
        sequence(BASIC_CONSTRAINTS, TRUE, octets(authority ? sequence(TRUE) : sequence())),
        // An authority is for every use; a server's own is for that alone.
        ...(authority ? [] : [sequence(EXTENDED_KEY_USAGE, octets(sequence(SERVER_AUTH)))]),
        sequence(SUBJECT_ALT_NAME, octets(sequence(...names.map(altName)))),
      ),
    ),
  );
  const signed = sequence(body, ECDSA_WITH_SHA256, bits(sign('sha256', body, privateKey)));
  const lines = signed.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

/** Years until 2049 have two digits. */
function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

function altName(name: string): Buffer {
  return isIP(name) === 0 ? der(0x82, Buffer.from(name)) : der(0x87, addressBytes(name));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The form of URLs has no dotted part and no zone.
  const [before = '', after = ''] = new URL(`http://[${address.split('%')[0]}]/`).hostname.slice(1, -1).split('::', 2);
  const [head, tail] = [groupsOf(before), groupsOf(after)];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return Buffer.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]));
}

function groupsOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}
