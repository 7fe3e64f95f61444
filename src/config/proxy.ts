/** Which proxy a provider is reached through: its own, or the one that the environment names. */
import { isIP } from 'node:net';
import { isInRanges } from '../core/address-list.ts';
import { type Environment, SettingError } from './settings.ts';

const LOOPBACK = ['127.0.0.0/8', '0.0.0.0', '::1', '::'];

/** True for what never leaves this machine. */
export function isLoopback({ hostname }: URL): boolean {
  const host = bare(hostname);
  return isInRanges(LOOPBACK, host) || host === 'localhost' || host.endsWith('.localhost');
}

/** The address of a proxy as it is used; null where the text is none. `host:port` means `http://host:port`. */
export function proxyAddress(text: string): string | null {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return null;
  const { pathname, search, hash } = new URL(address);
  return pathname === '/' && search === '' && hash === '' ? address : null;
}

/**
 * As `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say, or their lower-case names, which go first. Null: straight to the
 * provider. Throws a SettingError for an address that cannot be used.
 */
export function proxyFromEnvironment(env: Environment, address: URL): string | null {
  if (isLoopback(address) || isExcepted(given(env, 'NO_PROXY')?.value ?? '', address)) return null;
  const named = given(env, address.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  if (named === undefined) return null;
  const proxy = proxyAddress(named.value);
  // The value is never shown: it may hold a password.
  if (proxy === null)
    throw new SettingError(named.name, ' is not the address of a proxy: expected http://… or https://…');
  return proxy;
}

interface Given {
  readonly name: string;
  readonly value: string;
}

function given(env: Environment, name: string): Given | undefined {
  for (const spelling of [name.toLowerCase(), name]) {
    const value = env[spelling]?.trim();
    if (value !== undefined && value !== '') return { name: spelling, value };
  }
  return undefined;
}

/** Whether a list such as `example.com, .internal:8443, 10.0.0.0/8, *` has the address. */
function isExcepted(list: string, address: URL): boolean {
  const host = bare(address.hostname);
  const port = address.port || (address.protocol === 'https:' ? '443' : '80');
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== '' && (entry === '*' || excepts(entry, host, port)));
}

function excepts(entry: string, host: string, port: string): boolean {
  if (/^[0-9a-f.:]+\/\d{1,3}$/.test(entry)) return isInRanges([entry], host);
  // The colons of an IPv6 address do not begin a port; with one, it has brackets.
  const withPort = isIP(entry) === 6 ? null : /^(.+):(\d{1,5})$/.exec(entry);
  if (withPort && withPort[2] !== port) return false;
  const name = bare((withPort?.[1] ?? entry).replace(/^\*?\./, ''));
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function bare(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
}
