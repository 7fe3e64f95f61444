/** Which server of a `DATABASE_URL` a connection goes to: each of its hosts in turn, and each address of a name. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { databaseAddress } from '../../core/database-url.ts';
import { NoServerError } from './error-mapping.ts';

export interface Server {
  /** For the driver, which checks a certificate against the host in it. */
  readonly url: string;
  /** Where to connect; null: where the driver would. */
  readonly address: string | null;
}

type Lookup = (host: string) => Promise<readonly string[]>;

/** Of each URL, the server that served last. It is tried first, so that nobody waits for a dead one time and again. */
const served = new Map<string, { readonly name: string; readonly address: string | null }>();

/** With the first that `connect` takes. One that fails alone fails with its own error. */
export async function onFirstServer<T>(
  url: string,
  connect: (server: Server) => Promise<T>,
  addressesOf: Lookup = everyAddress,
): Promise<T> {
  const { hosts, connectTimeoutMs } = databaseAddress(url);
  const last = served.get(url);
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  for (const { name, host, url: own } of first(hosts, (one) => one.name === last?.name)) {
    try {
      const plain = host === '' || host.startsWith('/') || isIP(host) !== 0;
      const addresses = plain ? [null] : await inTime(addressesOf(host), connectTimeoutMs);
      for (const address of first(addresses, (one) => one === last?.address)) {
        try {
          const connected = await connect({ url: own, address });
          served.set(url, { name, address });
          return connected;
        } catch (error) {
          failures.push({ name: addresses.length === 1 ? name : `${name} (${address})`, error });
        }
      }
    } catch (error) {
      failures.push({ name, error });
    }
  }
  const [only] = failures;
  throw failures.length === 1 ? only?.error : new NoServerError(failures);
}

/** The one that is wanted before the others, which stay in their order. */
function first<T>(all: readonly T[], wanted: (one: T) => boolean): readonly T[] {
  return [...all.filter(wanted), ...all.filter((one) => !wanted(one))];
}

async function everyAddress(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

/** A name service that hangs must not keep the hosts behind it waiting. */
async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout while the host name was looked up')), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
