/** Lists of IP addresses and ranges in CIDR notation, IPv4 and IPv6. */
import { BlockList, isIP } from 'node:net';

type Family = 'ipv4' | 'ipv6';

/** The prefix of a single address. */
const LONGEST: Readonly<Record<Family, number>> = { ipv4: 32, ipv6: 128 };

interface Range {
  readonly network: string;
  readonly prefix: number;
  readonly family: Family;
}

export function isAddressRange(text: string): boolean {
  return rangeOf(text) !== null;
}

/** Whether one of the ranges has the address. Text that is not an address is in none. */
export function isInRanges(ranges: readonly string[], address: string): boolean {
  const family = familyOf(address);
  return family !== null && listOf(ranges).check(address, family);
}

/** Whether one of the ranges has every address of this one, which may be a single address. */
export function isRangeWithin(ranges: readonly string[], text: string): boolean {
  const range = rangeOf(text);
  if (range === null) return false;
  const wider = ranges.filter((other) => {
    const { family, prefix } = rangeOf(other) ?? { family: null, prefix: 0 };
    // An IPv4 address may be written as one of IPv6; of ranges, only those of one family are compared.
    return family === range.family ? prefix <= range.prefix : range.prefix === LONGEST[range.family];
  });
  return isInRanges(wider, range.network);
}

/** A list of a key is asked for each of its requests. */
const LISTS = new WeakMap<readonly string[], BlockList>();

function listOf(ranges: readonly string[]): BlockList {
  const known = LISTS.get(ranges);
  if (known !== undefined) return known;
  const list = new BlockList();
  for (const text of ranges) {
    const range = rangeOf(text);
    if (range !== null) list.addSubnet(range.network, range.prefix, range.family);
  }
  LISTS.set(ranges, list);
  return list;
}

function rangeOf(text: string): Range | null {
  const [network = '', prefixText, ...more] = text.split('/');
  const family = familyOf(network);
  if (family === null || more.length > 0) return null;
  const longest = LONGEST[family];
  if (prefixText === undefined) return { network, prefix: longest, family };
  const prefix = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : Number.NaN;
  return prefix <= longest ? { network, prefix, family } : null;
}

function familyOf(address: string): Family | null {
  switch (isIP(address)) {
    case 4:
      return 'ipv4';
    case 6:
      return 'ipv6';
    default:
      return null;
  }
}
