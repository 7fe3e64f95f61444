/** Which addresses belong to hosts on the internet, and which to this machine or to private networks. */
import { BlockList, isIP } from 'node:net';

/** This machine, private networks, and everything that is not a host on the internet (RFC 6890 and the registries behind it). */
const SPECIAL_V4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/**
 * Hosts on the internet are in this one range. Outside of it are local networks, and most of the forms that carry an IPv4
 * address and would be a way around the list above (mapped, translated, NAT64).
 */
const GLOBAL_V6 = ['2000::/3'];
/** What of that range is not a host on the internet; 2001::/23 and 2002::/16 carry IPv4 addresses (Teredo, 6to4). */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

// One for each family: in a common one, IPv4 addresses would be found among those that carry one.
const specialV4 = rangesOf(SPECIAL_V4, 'ipv4');
const globalV6 = rangesOf(GLOBAL_V6, 'ipv6');
const specialV6 = rangesOf(SPECIAL_V6, 'ipv6');

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/** As a URL has an IPv6 address. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** Null where it is a name. */
export function literalAddress(host: string): Address | null {
  const address = withoutBrackets(host);
  const family = isIP(address);
  return family === 0 ? null : { address, family: family === 4 ? 4 : 6 };
}

/** Of an address as a look-up finds it. */
export function isPublic({ address, family }: { readonly address: string; readonly family: number }): boolean {
  if (family !== 6) return !specialV4.check(address, 'ipv4');
  return globalV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6');
}

function rangesOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits = '0'] = range.split('/');
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}
