/** Which addresses a webhook may lead to. A name is resolved once, judged, and the connection goes where it was judged. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Address, isPublic } from '../core/public-address.ts';

export type Resolve = (host: string) => Promise<readonly Address[]>;

/** The address to connect to. Throws where one of those that the name has must not be called: the next answer could be that one. */
export async function checkedAddress(
  host: string,
  allowPrivate: boolean,
  resolve: Resolve = resolveHost,
): Promise<Address> {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(bare);
  const all =
    family === 0 ? await resolve(bare) : [{ address: bare, family: family === 4 ? (4 as const) : (6 as const) }];
  const [first] = all;
  if (first === undefined) throw new Error(`${bare} has no address`);
  const wrong = allowPrivate ? undefined : all.find((address) => !isPublic(address));
  if (wrong === undefined) return first;
  throw new Error(
    `${bare} leads to ${wrong.address}, which is not a public address (the config file allows it with alerts.allow_private for its own webhooks, with alerts.accounts_allow_private for those of accounts)`,
  );
}

async function resolveHost(host: string): Promise<readonly Address[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}
