/**
 * The secrets of a provider's configuration, which must never be repeated to a client, in a log or in a record:
 * providers quote what they were sent. Most values of `headers` are credentials or ids of accounts, so all of them count,
 * except those that are plainly not: redacting `application/json` or `true` would destroy ordinary text.
 */
import type { Provider } from '../core/provider.ts';
import { getOrInsert } from '../lib/get-or-insert.ts';

const SECRET_NAME = /auth|key|secret|token|password|passwd|credential|cookie|session|signature/i;
const HARMLESS_NAME =
  /^(accept(-.*)?|content-type|user-agent|(http-)?referer|x-title|anthropic-(version|beta)|openai-beta)$/;
/** Shorter values are not secrets, and redacting them would destroy ordinary words. */
const CHARACTERS_MIN = 6;
/** A word or a number: a setting rather than a credential, unless its name says otherwise. */
const ORDINARY = /^([a-z]{1,15}|[\d.]{1,15})$/i;

/** Made once for each provider, which lives as long as its configuration. */
const KNOWN = new WeakMap<Provider, readonly string[]>();

/** Longest first: a part of a value must not be taken out of the whole. */
export function secretsOf(provider: Provider): readonly string[] {
  return getOrInsert(KNOWN, provider, () =>
    [...new Set(findSecrets(provider))].sort((one, other) => other.length - one.length),
  );
}

function findSecrets({ apiKeys, headers, options, network, baseUrl }: Provider): readonly string[] {
  const query = URL.parse(baseUrl)?.searchParams ?? [];
  return [
    ...apiKeys.filter((key) => key !== ''),
    ...secretOptions(options),
    ...credentialsOf(network.proxy),
    ...Object.entries(headers).flatMap(([name, value]) => secretHeader(name, value)),
    ...[...query].flatMap(([name, value]) => (isSecret(name, value) ? [value, encodeURIComponent(value)] : [])),
  ];
}

function secretOptions(options: object): readonly string[] {
  return Object.entries(options).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return secretOptions(value);
    return typeof value === 'string' && value !== '' && SECRET_NAME.test(name) ? [value] : [];
  });
}

/** The password, or the user where that is all there is; also as they are written in the address and sent to the proxy. */
function credentialsOf(proxy: string | null): readonly string[] {
  if (proxy === null) return [];
  const { username, password } = new URL(proxy);
  const secret = password === '' ? username : password;
  if (secret === '') return [];
  const sent = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [secret, decodeURIComponent(secret), Buffer.from(sent).toString('base64')];
}

/** The value and its parts: whoever quotes `Bearer abc…` or a cookie may leave out what is around the secret. */
function secretHeader(name: string, value: string): readonly string[] {
  const lowerName = name.toLowerCase();
  if (HARMLESS_NAME.test(lowerName)) return [];
  const parts = value.split(/[;,\s]+/).flatMap((part) => [part, part.slice(part.indexOf('=') + 1)]);
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1];
  const decoded = basic === undefined ? '' : Buffer.from(basic, 'base64').toString();
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [value, ...parts, decoded, password].filter((text) => isSecret(lowerName, text));
}

function isSecret(name: string, value: string): boolean {
  return value.length >= CHARACTERS_MIN && (SECRET_NAME.test(name) || !ORDINARY.test(value));
}
