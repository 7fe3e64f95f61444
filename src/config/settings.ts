/** The settings of a process, read from its environment. Unset and empty mean the same: the default. */
import { isIP } from 'node:net';
import { join } from 'node:path';
import { addressRanges, FORWARDING_HEADERS } from '../core/client-address.ts';
import { DatabaseUrlError, databaseAddress } from '../core/database-url.ts';
import { readOidc } from './oidc.ts';
import type { TlsFiles } from './pem.ts';
import { type Environment, givenVariable as given, readVariable } from './secrets.ts';

export type { Environment } from './secrets.ts';

/** One line: which setting, what is wrong with it and what is expected. */
export class SettingError extends Error {
  readonly setting: string;

  constructor(setting: string, message: string) {
    super(`${setting}${message}`);
    this.name = 'SettingError';
    this.setting = setting;
  }
}

const WORKERS_RANGE = { least: 1, most: 128 };
const LEASE_SECONDS_MAX = 3_600;
const EXEC_SECONDS_MAX = 86_400;
const SECRET_LENGTH_MIN = 32;
const DATA_FOLDER = './data';
/** In the data folder: the certificate and its private key, one after the other. */
const SELF_SIGNED_FILE = 'admin-tls.pem';

/** Values from the command line, as typed; they override the environment. */
interface SettingFlags {
  readonly workers?: string | undefined;
}

interface Row<Value> {
  read(env: Environment, flags: SettingFlags): Value;
  /** What the operator is shown of it. */
  show(value: Value): unknown;
}

function open<Value>(read: Row<Value>['read']): Row<Value> {
  return { read, show: (value) => value };
}

function secret<Value>(read: Row<Value>['read'], show: Row<Value>['show'] = whetherSet): Row<Value> {
  return { read, show };
}

/** Each setting has to say whether it is a secret, so that a new one cannot be given away by being forgotten. */
const SETTINGS = {
  host: open((env) => readHost(env, 'GATEWAY_HOST')),
  port: open((env) => readPort(env, 'GATEWAY_PORT', 8080)),
  adminHost: open((env) => readHost(env, 'GATEWAY_ADMIN_HOST')),
  adminPort: open((env) => readPort(env, 'GATEWAY_ADMIN_PORT', 8081)),
  /** Where browsers reach the operator's listener, without a slash at the end; null where the operator does not say. */
  adminUrl: open(readAdminUrl),
  /** Names, in lower case, under which the operator's listener is reached besides `localhost` and IP addresses. */
  adminHosts: open(readAdminHosts),
  /** The certificate of the operator's listener; null: plain HTTP. */
  adminTls: open(readAdminTls),
  /** Whether the gateway makes that certificate itself. */
  adminSelfSigned: open(isSelfSigned),
  /** Whether the operator's listener can only be reached through a proxy that speaks TLS. */
  adminProxy: open((env) => readSwitch(env, 'GATEWAY_ADMIN_PROXY', 'off')),
  /** Opens the metrics and nothing else; null: only the admin secret does. */
  metricsToken: secret((env) => readSecret(env, 'GATEWAY_METRICS_TOKEN')),
  /** Null: operators sign in by links and tokens only. */
  oidc: secret(
    (env) =>
      readOidc(
        env,
        givenSecret(env, 'GATEWAY_OIDC_CLIENT_SECRET') ?? null,
        (setting, message) => new SettingError(setting, message),
      ),
    (oidc) => oidc && { ...oidc, clientSecret: whetherSet(oidc.clientSecret) },
  ),
  /** Whether every key has metrics of its own. */
  metricsPerKey: open((env) => readSwitch(env, 'GATEWAY_METRICS_KEYS', 'off')),
  /** Where clients reach the gateway, without a slash at the end; null where the operator does not say. */
  publicUrl: open(readPublicUrl),
  /** Ranges of addresses of proxies in front, and the header in which these say whom they forward for. */
  trustedProxies: open(readTrustedProxies),
  proxyHeader: open((env) => readChoice(env, 'GATEWAY_PROXY_HEADER', FORWARDING_HEADERS, 'x-forwarded-for')),
  /** Origins whose pages may send requests to the public listener; `*` is any. */
  corsOrigins: open(readCorsOrigins),
  dataDir: open((env) => readPath(env, 'GATEWAY_DATA', DATA_FOLDER)),
  configFile: open((env) => readPath(env, 'GATEWAY_CONFIG', './gateway.yaml')),
  /** True when the operator named the file: then it must exist. */
  configFileNamed: open((env) => given(env, 'GATEWAY_CONFIG') !== undefined),
  /** Null: embedded SQLite in the data folder. */
  databaseUrl: secret((env) => readDatabaseUrl(env, 'DATABASE_URL'), withoutCredentials),
  /** Where to change the schema, past a pooler; null: where everything else goes. */
  databaseDirectUrl: secret((env) => readDatabaseUrl(env, 'DATABASE_DIRECT_URL'), withoutCredentials),
  /** Keys the digests of API keys; replicas share it. Null: the one kept in the data folder. */
  installationSecret: secret((env) => readSecret(env, 'GATEWAY_SECRET')),
  /** How long a silent process counts as alive; after that, other processes recover its holds. */
  leaseMs: open((env) => 1_000 * readWhole(env, 'GATEWAY_LEASE_SECONDS', 15, { least: 1, most: LEASE_SECONDS_MAX })),
  workers: open((env, flags) =>
    flags.workers === undefined
      ? readWhole(env, 'GATEWAY_WORKERS', 1, WORKERS_RANGE)
      : whole('--workers', flags.workers, WORKERS_RANGE),
  ),
  /** The certificate of the public listener, where the environment names it. */
  tls: open((env) => readTlsFiles(env, 'GATEWAY_TLS_CERT', 'GATEWAY_TLS_KEY')),
  logLevel: open((env) => readChoice(env, 'GATEWAY_LOG', ['debug', 'info', 'warn', 'error', 'silent'], 'info')),
  /** Whether to look for model servers on this machine when no config file names providers. */
  discoverLocal: open((env) => readSwitch(env, 'GATEWAY_DISCOVER_LOCAL', 'on')),
  /** Whether the config file may name commands whose output is a value. */
  allowExec: open((env) => readSwitch(env, 'GATEWAY_ALLOW_EXEC', 'off')),
  /** How often such commands are run again. */
  execRefreshMs: open(
    (env) => 1_000 * readWhole(env, 'GATEWAY_EXEC_SECONDS', 300, { least: 1, most: EXEC_SECONDS_MAX }),
  ),
  /** Whether the sandbox judges every request as the real APIs do. */
  sandboxStrict: open((env) => readChoice(env, 'GATEWAY_SANDBOX', ['lenient', 'strict'], 'lenient') === 'strict'),
};

type Rows = typeof SETTINGS;

/** From the environment; fixed for the life of the process. */
export type Settings = { readonly [Name in keyof Rows]: ReturnType<Rows[Name]['read']> };

export function readSettings(env: Environment, flags: SettingFlags = {}): Settings {
  const entries = Object.entries(SETTINGS).map(([name, { read }]) => [name, read(env, flags)]);
  const settings: Settings = Object.freeze(Object.fromEntries(entries));
  const { port, adminPort } = settings;
  if (port === adminPort && port !== 0) {
    throw new SettingError('GATEWAY_ADMIN_PORT', ` is ${port}, as is GATEWAY_PORT: the two must differ`);
  }
  if (settings.databaseDirectUrl !== null && settings.databaseUrl === null) {
    throw new SettingError(
      'DATABASE_DIRECT_URL',
      ' is set without DATABASE_URL: it names the same database past a pooler',
    );
  }
  return settings;
}

/** How each value is shown to the operator. */
export type Shown<Of> = { readonly [Name in keyof Required<Of>]: (value: Of[Name]) => unknown };

export const SETTING_VIEWS = Object.fromEntries(
  Object.entries(SETTINGS).map(([name, { show }]) => [name, show]),
) as unknown as Shown<Settings>;

export function whetherSet(value: unknown): string | null {
  return value === null ? null : 'set';
}

/** Hosts, ports and database: what is before the `@`, and the parameters, can be secret. */
function withoutCredentials(url: string | null): string | null {
  if (url === null) return null;
  return `postgres://${databaseAddress(url).shown}`;
}

/** Of a setting that is a secret: the variable itself, or the file that `NAME_FILE` names. */
function givenSecret(env: Environment, name: string): string | undefined {
  const read = readVariable(env, name);
  if (read === null) return undefined;
  if ('value' in read) return read.value;
  throw new SettingError('', read.problem);
}

export function shown(value: string): string {
  return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
}

function readPort(env: Environment, name: string, fallback: number): number {
  return readWhole(env, name, fallback, { least: 0, most: 65_535, note: '; 0 picks a free port' });
}

function readWhole(
  env: Environment,
  name: string,
  fallback: number,
  range: { least: number; most: number; note?: string },
): number {
  const text = given(env, name);
  return text === undefined ? fallback : whole(name, text, range);
}

function whole(
  name: string,
  text: string,
  { least, most, note = '' }: { least: number; most: number; note?: string },
): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new SettingError(name, ` is ${shown(text)}: must be a whole number from ${least} to ${most}${note}`);
}

function readChoice<const Choice extends string>(
  env: Environment,
  name: string,
  choices: readonly Choice[],
  fallback: Choice,
): Choice {
  const text = given(env, name);
  if (text === undefined) return fallback;
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new SettingError(name, ` is ${shown(text)}: expected one of ${choices.join(', ')}`);
}

function readSwitch(env: Environment, name: string, fallback: 'on' | 'off'): boolean {
  return readChoice(env, name, ['on', 'off'], fallback) === 'on';
}

function readHost(env: Environment, name: string): string {
  const text = given(env, name);
  if (text === undefined) return '127.0.0.1';
  if (isIP(text) !== 0 || isHostName(text)) return text;
  throw new SettingError(
    name,
    ` is ${shown(text)}: must be an IP address or a host name, without scheme or port (0.0.0.0 listens everywhere)`,
  );
}

function isHostName(text: string): boolean {
  const name = /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;
  const numbersOnly = /^[\d.]+$/.test(text);
  return !numbersOnly && name.test(text);
}

/** The name that it listens on is always one of them, and so is the one that browsers use. */
function readAdminHosts(env: Environment): readonly string[] {
  const text = given(env, 'GATEWAY_ADMIN_ALLOWED_HOSTS') ?? '';
  const names = text.split(',').map((name) => name.trim());
  const wrong = text === '' ? undefined : names.find((name) => !isHostName(name));
  if (wrong !== undefined) {
    throw new SettingError(
      'GATEWAY_ADMIN_ALLOWED_HOSTS',
      ` has ${shown(wrong)}: must be host names without scheme or port, separated by commas (IP addresses are always allowed)`,
    );
  }
  const url = readAdminUrl(env);
  const own = [readHost(env, 'GATEWAY_ADMIN_HOST'), ...(url === null ? [] : [new URL(url).hostname])];
  return [...names, ...own].filter(isHostName).map((name) => name.toLowerCase());
}

function readPublicUrl(env: Environment): string | null {
  return readAddress(env, 'GATEWAY_PUBLIC_URL', 'credentials and query, e.g. https://gateway.example.com', () => true);
}

/** The console's own paths begin at the root of its address. */
function readAdminUrl(env: Environment): string | null {
  const expected = 'a path, e.g. https://console.example.com';
  return readAddress(env, 'GATEWAY_ADMIN_URL', expected, ({ pathname }) => pathname === '/');
}

function readAddress(env: Environment, name: string, without: string, accepts: (url: URL) => boolean): string | null {
  const text = given(env, name);
  if (text === undefined) return null;
  const url = URL.parse(text);
  const plain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (plain && /^https?:$/.test(url.protocol) && accepts(url)) return url.href.replace(/\/+$/, '');
  throw new SettingError(name, ` is ${shown(text)}: must be an http or https address without ${without}`);
}

/** Only where nobody else protects what browsers send: an own certificate is better, and a proxy speaks plain HTTP. */
function isSelfSigned(env: Environment): boolean {
  const wanted = readChoice(env, 'GATEWAY_ADMIN_TLS', ['off', 'self-signed'], 'off') === 'self-signed';
  return wanted && givenAdminTls(env) === null && !readSwitch(env, 'GATEWAY_ADMIN_PROXY', 'off');
}

function readAdminTls(env: Environment): TlsFiles | null {
  if (!isSelfSigned(env)) return givenAdminTls(env);
  const file = join(readPath(env, 'GATEWAY_DATA', DATA_FOLDER), SELF_SIGNED_FILE);
  return { cert: file, key: file };
}

function givenAdminTls(env: Environment): TlsFiles | null {
  return readTlsFiles(env, 'GATEWAY_ADMIN_TLS_CERT', 'GATEWAY_ADMIN_TLS_KEY');
}

function readList(env: Environment, name: string): readonly string[] {
  const text = given(env, name);
  return text === undefined ? [] : text.split(',').map((part) => part.trim());
}

function readTrustedProxies(env: Environment): readonly string[] {
  return readList(env, 'GATEWAY_TRUSTED_PROXIES').flatMap((text) => {
    const ranges = addressRanges(text);
    if (ranges !== null) return ranges;
    throw new SettingError(
      'GATEWAY_TRUSTED_PROXIES',
      ` has ${shown(text)}: must be IP addresses, ranges such as 10.0.0.0/8, loopback or private, separated by commas`,
    );
  });
}

/** As browsers send them: scheme, host and port, without a path. Apps have schemes of their own. */
function readCorsOrigins(env: Environment): readonly string[] {
  return readList(env, 'GATEWAY_CORS_ORIGINS').map((text) => {
    const url = URL.parse(text);
    const web = url !== null && /^https?:$/.test(url.protocol);
    const plain = web ? url.origin === text.toLowerCase() : /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._:-]+$/i.test(text);
    if (text === '*' || plain) return text.toLowerCase();
    throw new SettingError(
      'GATEWAY_CORS_ORIGINS',
      ` has ${shown(text)}: must be * or origins without a path and a default port, such as https://app.example.com, separated by commas`,
    );
  });
}

function readPath(env: Environment, name: string, fallback: string): string {
  const text = given(env, name);
  if (text === undefined) return fallback;
  if (!text.includes('\0') && text.trim() !== '') return text;
  throw new SettingError(name, ` is ${shown(text)}: must be a path`);
}

function readTlsFiles(env: Environment, certName: string, keyName: string): TlsFiles | null {
  const cert = given(env, certName);
  const key = given(env, keyName);
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined) throw new SettingError(certName, ` is missing: ${keyName} is set`);
  if (key === undefined) throw new SettingError(keyName, ` is missing: ${certName} is set`);
  return { cert: readPath(env, certName, ''), key: readPath(env, keyName, '') };
}

/** The value is never shown: it may hold a password. */
function readDatabaseUrl(env: Environment, name: string): string | null {
  const text = givenSecret(env, name);
  if (text === undefined) return null;
  try {
    databaseAddress(text);
    return text;
  } catch (error) {
    throw error instanceof DatabaseUrlError ? new SettingError(name, error.message) : error;
  }
}

/** The value is never shown. */
function readSecret(env: Environment, name: string): string | null {
  const text = givenSecret(env, name);
  if (text === undefined || text.length >= SECRET_LENGTH_MIN) return text ?? null;
  throw new SettingError(name, ` is too short: must have at least ${SECRET_LENGTH_MIN} characters`);
}
