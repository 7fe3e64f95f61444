/**
 * What a `DATABASE_URL` says, in the form of PostgreSQL's own clients: one server or several, which of them will do, how long a
 * connection may take, and whether a pooler is in between. The driver takes one server at a time and none of the rest.
 */

/** Which servers will do. `any`: the first that answers. */
type WantedServer = 'read-write' | 'primary' | 'any';

export interface DatabaseHost {
  /** As it is shown: host and port. */
  readonly name: string;
  /** A name, an IP address, or the folder of a socket; empty: whatever the driver takes then. */
  readonly host: string;
  /** For the driver: this server alone, with what it understands and a pooler lets pass. */
  readonly url: string;
}

export interface DatabaseAddress {
  /** In the order in which they are tried. */
  readonly hosts: readonly DatabaseHost[];
  readonly wanted: WantedServer;
  /** The operator says that a pooler may give each transaction another session; otherwise it is found out. */
  readonly pooled: boolean;
  /** For each server. */
  readonly connectTimeoutMs: number;
  /** Servers and database, without credentials and parameters. */
  readonly shown: string;
}

/** Goes behind the name of the setting. Never shows the value, which may hold a password. */
export class DatabaseUrlError extends Error {
  override name = 'DatabaseUrlError';
}

const CONNECT_TIMEOUT_S = 5;
const CONNECT_TIMEOUT_S_MAX = 600;
const DEFAULT_PORT = '5432';
const SYNTAX = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;
/** A gateway writes: what other clients ask for standbys with is no use here. */
const WANTED: readonly WantedServer[] = ['read-write', 'primary', 'any'];
/** Read here, or set by each connection itself; poolers refuse most of these at the start of a session. */
const NOT_FOR_DRIVER = [
  'host',
  'port',
  'target_session_attrs',
  'pgbouncer',
  'connect_timeout',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
];
const EXPECTED = 'must be postgres://… or postgresql://…, special characters percent-encoded';

/** Throws a `DatabaseUrlError`. */
export function databaseAddress(text: string): DatabaseAddress {
  const [, scheme = '', credentials = '', authority = '', path = '', query = ''] =
    SYNTAX.exec(text.trim().replaceAll(' ', '%20')) ?? [];
  if (!/^postgres(ql)?:\/\//.test(text)) throw new DatabaseUrlError(` is not a PostgreSQL URL: ${EXPECTED}`);
  if (scheme === '' || !canDecode(credentials + path)) throw unreadable();
  const parameters = new URLSearchParams(query);
  const wanted = readWanted(parameters.get('target_session_attrs'));
  const pooled = readPooled(parameters.get('pgbouncer'));
  const connectTimeoutMs = readConnectTimeout(parameters.get('connect_timeout'));
  const places = readPlaces(authority, parameters.get('host'), parameters.get('port'));
  for (const name of pooled ? [...NOT_FOR_DRIVER, 'options'] : NOT_FOR_DRIVER) parameters.delete(name);
  const hosts = places.map(({ host, port }) => {
    const own = new URLSearchParams(parameters);
    if (host !== '') own.set('host', host);
    if (port !== '') own.set('port', port);
    return {
      name: `${host === '' ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port === '' ? DEFAULT_PORT : port}`,
      host,
      // The driver reads an empty authority behind credentials as none.
      url: `${scheme}${credentials}${path === '' ? '/' : path}?${own}`,
    };
  });
  return { hosts, wanted, pooled, connectTimeoutMs, shown: `${hosts.map(({ name }) => name).join(',')}${path}` };
}

interface Place {
  readonly host: string;
  readonly port: string;
}

/** Parameters go before what stands in front of the path, as in PostgreSQL's own clients. */
function readPlaces(authority: string, hostList: string | null, portList: string | null): readonly Place[] {
  const inUrl = authority.split(',').map((part): Place => {
    const [, host, port = ''] = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]*)(?::(\d*))?$/.exec(part) ?? [];
    if (host === undefined || !canDecode(host)) throw unreadable();
    return { host: decodeURIComponent(host.replace(/^\[(.*)\]$/, '$1')), port };
  });
  const named = hostList === null ? inUrl : hostList.split(',').map((host): Place => ({ host, port: '' }));
  const ports = portList?.split(',') ?? [];
  if (ports.length > 1 && ports.length !== named.length) {
    throw new DatabaseUrlError(': port must have one number, or as many as there are hosts');
  }
  const places = named.map(({ host, port }, index) => ({ host, port: ports[index] ?? ports[0] ?? port }));
  for (const { host, port } of places) {
    if (/[\s/?#@]/.test(host.startsWith('/') ? '' : host) || (host === '' && places.length > 1)) throw unreadable();
    if (port !== '' && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) throw unreadable();
  }
  return places;
}

function readWanted(text: string | null): WantedServer {
  if (text === null) return 'read-write';
  const wanted = WANTED.find((name) => name === text);
  if (wanted !== undefined) return wanted;
  throw new DatabaseUrlError(
    `: target_session_attrs must be ${WANTED.slice(0, -1).join(', ')} or any: the gateway writes, so a standby is no use to it`,
  );
}

function readPooled(text: string | null): boolean {
  if (text === null || text === 'false') return false;
  if (text === 'true') return true;
  throw new DatabaseUrlError(
    ': pgbouncer must be true (a pooler in transaction mode is in between) or false (find it out)',
  );
}

/** `connect_timeout` as PostgreSQL's own clients have it, in whole seconds. */
function readConnectTimeout(text: string | null): number {
  const seconds = text === null ? CONNECT_TIMEOUT_S : /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= CONNECT_TIMEOUT_S_MAX) return seconds * 1_000;
  throw new DatabaseUrlError(`: connect_timeout must be a whole number of seconds from 1 to ${CONNECT_TIMEOUT_S_MAX}`);
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function unreadable(): DatabaseUrlError {
  return new DatabaseUrlError(` cannot be read as a URL: ${EXPECTED}`);
}
