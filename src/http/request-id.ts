import { randomBytes } from 'node:crypto';

const SERIAL_HEX = 7;
const SERIAL_MAX = 16 ** SERIAL_HEX;
/** Of this process, or thread, alone; the serial number makes the rest of an id different from its others. */
const OWN_HEX = randomBytes(7).toString('hex').slice(1);
let serial = randomBytes(4).readUInt32BE() % SERIAL_MAX;

/**
 * The gateway's own id of a request; a client's `x-request-id` is never trusted as one. It is the id of its hold too, so
 * it begins with the time: rows that are written together then lie together in the store.
 */
export function newRequestId(): string {
  serial = (serial + 1) % SERIAL_MAX;
  const time = Date.now().toString(16).padStart(12, '0');
  return `req_${time}${OWN_HEX}${serial.toString(16).padStart(SERIAL_HEX, '0')}`;
}
