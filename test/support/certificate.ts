/** A certificate that signs itself, made anew for each run: nothing to expire, and no key to keep. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { isIP } from 'node:net';

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
const integer = (value: number): Buffer => der(0x02, Buffer.of(value));
const time = (year: number): Buffer => der(0x18, Buffer.from(`${year}0101000000Z`));
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.of(0), bytes);
const context = (tag: number, ...parts: readonly Uint8Array[]): Buffer => der(0xa0 + tag, ...parts);

const ECDSA_WITH_SHA256 = sequence(object('2a8648ce3d040302'));
const COMMON_NAME = object('550403');
const SUBJECT_ALT_NAME = object('551d11');
const BASIC_CONSTRAINTS = object('551d13');
const TRUE = der(0x01, Buffer.of(0xff));

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** For the name `localhost` and no other. */
export function certificateOfLocalhost(): Certificate {
  return certificateOf('localhost');
}

/** For that name, or IPv4 address, and no other, until the beginning of a year; it is its own authority. */
export function certificateOf(host: string, untilYear = 2120): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(set(sequence(COMMON_NAME, der(0x0c, Buffer.from(host)))));
  const altNames = sequence(
    isIP(host) === 4 ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host)),
  );
  const body = sequence(
    context(0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(2020), time(untilYear)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    context(
      3,
      sequence(sequence(BASIC_CONSTRAINTS, TRUE, octets(sequence(TRUE))), sequence(SUBJECT_ALT_NAME, octets(altNames))),
    ),
  );
  const signed = sequence(body, ECDSA_WITH_SHA256, bits(sign('sha256', body, privateKey)));
  const lines = signed.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}
