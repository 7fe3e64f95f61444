/** Who sent a request, where proxies of the operator's own stand in front. */
import { isIP, isIPv4 } from 'node:net';
import { isAddressRange, isInRanges } from './address-list.ts';

/** The header in which the operator's proxies say whom they forward for. */
export const FORWARDING_HEADERS = ['x-forwarded-for', 'forwarded'] as const;
export type ForwardingHeader = (typeof FORWARDING_HEADERS)[number];

/** More than any chain of proxies has. */
const HOPS_MAX = 64;

/** Words that stand for ranges. */
const RANGES: Readonly<Record<string, readonly string[] | undefined>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10'],
};

/** Null for a text that is neither an address, nor a range such as `10.0.0.0/8`, nor `loopback` or `private`. */
export function addressRanges(text: string): readonly string[] | null {
  const named = Object.hasOwn(RANGES, text) ? RANGES[text] : undefined;
  if (named !== undefined) return named;
  if (!isAddressRange(text)) return null;
  return [text.includes('/') ? text : `${text}/${isIPv4(text) ? 32 : 128}`];
}

export class TrustedProxies {
  readonly header: ForwardingHeader;
  readonly #ranges: readonly string[];

  /** `ranges` as `addressRanges` gives them. */
  constructor(ranges: readonly string[], header: ForwardingHeader) {
    this.header = header;
    this.#ranges = ranges;
  }

  /**
   * The last address of the chain that is not a trusted proxy's: what stands before it anybody could have written. `peer` is the
   * other end of the connection, `forwarded` the value of the header. Empty where a trusted proxy does not say whom it forwards
   * for, in a form that can be read: that is nobody's address.
   */
  clientAddress(peer: string, forwarded: string | null): string {
    let address = plainAddress(peer);
    if (forwarded === null || !this.trusts(address)) return address;
    const hops = forwarded.split(',');
    for (const hop of hops.slice(-HOPS_MAX).reverse()) {
      const before = this.header === 'forwarded' ? forwardedFor(hop) : hop.trim();
      address = addressOf(before);
      if (address === '' || !this.trusts(address)) return address;
    }
    return address;
  }

  /** `address` as `plainAddress` writes it. */
  trusts(address: string): boolean {
    return isInRanges(this.#ranges, address);
  }
}

/** Null where nobody is trusted. */
export function trustedProxies(settings: {
  readonly trustedProxies: readonly string[];
  readonly proxyHeader: ForwardingHeader;
}): TrustedProxies | null {
  const { trustedProxies: ranges, proxyHeader } = settings;
  return ranges.length === 0 ? null : new TrustedProxies(ranges, proxyHeader);
}

/** Whether what is sent to this host, or comes from this address, stays on the machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || isInRanges(RANGES.loopback ?? [], plainAddress(host));
}

/** An IPv4 address that a socket for both families shows as an IPv6 one is written as what it is. */
export function plainAddress(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return mapped ?? address;
}

/** What one client has: an IPv4 address, or of IPv6 the first 64 bits. Empty for an empty one. */
export function clientNetwork(address: string): string {
  const plain = plainAddress(address);
  if (!plain.includes(':')) return plain;
  const [before = [], after = []] = plain.split('::', 2).map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Of one element of `Forwarded` (RFC 7239), such as `for="[2001:db8::1]:4711";proto=https`. */
function forwardedFor(element: string): string {
  const value = /(?:^|;)\s*for\s*=\s*(?:"([^"]*)"|([^\s;"]+))\s*(?:;|$)/i.exec(element.trim());
  return value?.[1] ?? value?.[2] ?? '';
}

/** Without a port. Empty for a text that is not an address, such as `unknown`. */
function addressOf(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1];
  const withPort = /^([\d.]+):\d{1,5}$/.exec(text)?.[1];
  const address = bracketed ?? withPort ?? text;
  return isIP(address) === 0 ? '' : plainAddress(address);
}
