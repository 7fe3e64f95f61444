/** The settings of a process, read from its environment. Unset and empty mean the same: the default. */
import { isIP } from 'node:net';
import { join } from 'node:path';
import { addressRanges, FORWARDING_HEADERS } from '../core/client-address.ts';
import { DatabaseUrlError, databaseAddress } from '../core/database-url.ts';
import { OIDC_SHOWN, type OidcSettings, readOidc } from './oidc.ts';
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
  /** What the operator is shown, by variable, as it would be written there. */
  readonly shown: Readonly<Record<string, (value: Value) => unknown>>;
}

type Reader<Value> = (env: Environment, name: string, flags: SettingFlags) => Value;

function open<Value>(
  name: string,
  read: Reader<Value>,
  show: (value: Value) => unknown = (value) => value,
): Row<Value> {
  return { read: (env, flags) => read(env, name, flags), shown: { [name]: show } };
}

function onOff(name: string, fallback: 'on' | 'off'): Row<boolean> {
  return open(name, (env) => readSwitch(env, name, fallback), shownSwitch);
}

function inSeconds(name: string, fallback: number, most: number): Row<number> {
  return open(
    name,
    (env) => 1_000 * readWhole(env, name, fallback, { least: 1, most }),
    (ms) => ms / 1_000,
  );
}

function secret<Value>(name: string, read: Reader<Value>, show: (value: Value) => unknown = whetherSet): Row<Value> {
  return open(name, read, show);
}

/** Says of another setting where it comes from, and is not shown itself. */
function origin(read: Row<boolean>['read']): Row<boolean> {
  return { read, shown: {} };
}

function tlsFiles(certName: string, keyName: string, read: Row<TlsFiles | null>['read']): Row<TlsFiles | null> {
  return { read, shown: { [certName]: (files) => files?.cert ?? null, [keyName]: (files) => files?.key ?? null } };
}

/** Each setting has to say how it is shown, so that a new one cannot give a secret away by being forgotten. */
const SETTINGS = {
  host: open('GATEWAY_HOST', readHost),
  port: open('GATEWAY_PORT', (env, name) => readPort(env, name, 8080)),
  adminHost: open('GATEWAY_ADMIN_HOST', readHost),
  adminPort: open('GATEWAY_ADMIN_PORT', (env, name) => readPort(env, name, 8081)),
  /** Where browsers reach the operator's listener, without a slash at the end; null where the operator does not say. */
  adminUrl: open('GATEWAY_ADMIN_URL', readAdminUrl),
  /** Names, in lower case, under which the operator's listener is reached besides `localhost` and IP addresses. */
  adminHosts: open('GATEWAY_ADMIN_ALLOWED_HOSTS', readAdminHosts),
  /** The certificate of the operator's listener; null: plain HTTP. */
  adminTls: tlsFiles('GATEWAY_ADMIN_TLS_CERT', 'GATEWAY_ADMIN_TLS_KEY', readAdminTls),
  /** Whether the gateway makes that certificate itself. */
  adminSelfSigned: open('GATEWAY_ADMIN_TLS', isSelfSigned, (made) => (made ? 'self-signed' : 'off')),
  /** Whether the operator's listener can only be reached through a proxy that speaks TLS. */
  adminProxy: onOff('GATEWAY_ADMIN_PROXY', 'off'),
  /** Opens the metrics and nothing else; null: only the admin secret does. */
  metricsToken: secret('GATEWAY_METRICS_TOKEN', readSecret),
  /** Null: operators sign in by links and tokens only. */
  oidc: {
    read: (env) => readOidc(env, givenSecret(env, 'GATEWAY_OIDC_CLIENT_SECRET') ?? null, settingError),
    shown: OIDC_SHOWN,
  } as Row<OidcSettings | null>,
  /** Whether every key has metrics of its own. */
  metricsPerKey: onOff('GATEWAY_METRICS_KEYS', 'off'),
  /** Where clients reach the gateway, without a slash at the end; null where the operator does not say. */
  publicUrl: open('GATEWAY_PUBLIC_URL', readPublicUrl),
  /** Ranges of addresses of proxies in front, and the header in which these say whom they forward for. */
  trustedProxies: open('GATEWAY_TRUSTED_PROXIES', readTrustedProxies),
  proxyHeader: open('GATEWAY_PROXY_HEADER', (env, name) =>
    readChoice(env, name, FORWARDING_HEADERS, 'x-forwarded-for'),
  ),
  /** Origins whose pages may send requests to the public listener; `*` is any. */
  corsOrigins: open('GATEWAY_CORS_ORIGINS', readCorsOrigins),
  dataDir: open('GATEWAY_DATA', (env, name) => readPath(env, name, DATA_FOLDER)),
  configFile: open('GATEWAY_CONFIG', (env, name) => readPath(env, name, './gateway.yaml')),
  /** True when the operator named the file: then it must exist. */
  configFileNamed: origin((env) => given(env, 'GATEWAY_CONFIG') !== undefined),
  /** Null: embedded SQLite in the data folder. */
  databaseUrl: secret('DATABASE_URL', readDatabaseUrl, withoutCredentials),
  /** Where to change the schema, past a pooler; null: where everything else goes. */
  databaseDirectUrl: secret('DATABASE_DIRECT_URL', readDatabaseUrl, withoutCredentials),
  /** Keys the digests of API keys; replicas share it. Null: the one kept in the data folder. */
  installationSecret: secret('GATEWAY_SECRET', readSecret),
  /** How long a silent process counts as alive; after that, other processes recover its holds. */
  leaseMs: inSeconds('GATEWAY_LEASE_SECONDS', 15, LEASE_SECONDS_MAX),
  workers: open('GATEWAY_WORKERS', (env, name, flags) =>
    flags.workers === undefined
      ? readWhole(env, name, 1, WORKERS_RANGE)
      : whole('--workers', flags.workers, WORKERS_RANGE),
  ),
  /** True when their number was given on the command line. */
  workersByFlag: origin((_env, flags) => flags.workers !== undefined),
  /** The certificate of the public listener, where the environment names it. */
  tls: tlsFiles('GATEWAY_TLS_CERT', 'GATEWAY_TLS_KEY', (env) =>
    readTlsFiles(env, 'GATEWAY_TLS_CERT', 'GATEWAY_TLS_KEY'),
  ),
  logLevel: open('GATEWAY_LOG', (env, name) =>
    readChoice(env, name, ['debug', 'info', 'warn', 'error', 'silent'], 'info'),
  ),
  /** Whether to look for model servers on this machine when no config file names providers. */
  discoverLocal: onOff('GATEWAY_DISCOVER_LOCAL', 'on'),
  /** Whether the config file may name commands whose output is a value. */
  allowExec: onOff('GATEWAY_ALLOW_EXEC', 'off'),
  /** How often such commands are run again. */
  execRefreshMs: inSeconds('GATEWAY_EXEC_SECONDS', 300, EXEC_SECONDS_MAX),
  /** Whether the sandbox judges every request as the real APIs do. */
  sandboxStrict: open(
    'GATEWAY_SANDBOX',
    (env, name) => readChoice(env, name, ['lenient', 'strict'], 'lenient') === 'strict',
    (strict) => (strict ? 'strict' : 'lenient'),
  ),
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

/** A setting in force. */
export interface SettingInForce {
  /** As it is written: `GATEWAY_PORT`, or `limits.drain` of the config file. */
  readonly name: string;
  /** In the unit in which it is written; null where nothing is set. */
  readonly value: unknown;
  readonly from: 'file' | 'environment' | 'command_line' | 'default';
}

/** Of the environment, without secrets. */
export function environmentInForce(settings: Settings, env: Environment): readonly SettingInForce[] {
  const from = (name: string): SettingInForce['from'] => {
    if (name === 'GATEWAY_WORKERS' && settings.workersByFlag) return 'command_line';
    return (given(env, name) ?? given(env, `${name}_FILE`)) === undefined ? 'default' : 'environment';
  };
  const rows = Object.entries(SETTINGS) as [keyof Settings, Row<unknown>][];
  return rows.flatMap(([field, { shown }]) =>
    Object.entries(shown).map(([name, show]) => ({ name, value: show(settings[field]), from: from(name) })),
  );
}

function settingError(setting: string, message: string): SettingError {
  return new SettingError(setting, message);
}

function shownSwitch(on: boolean): 'on' | 'off' {
  return on ? 'on' : 'off';
}

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
