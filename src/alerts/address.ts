/** Which addresses a receiver may have. A name is resolved once, judged, and the connection goes where it was judged. */
import { lookup } from 'node:dns/promises';
import { type Address, isPublic, literalAddress, withoutBrackets } from '../core/public-address.ts';

export type Resolve = (host: string) => Promise<readonly Address[]>;

/**
 * The address to connect to. Throws where one of those that the name has must not be called: the next answer could be that
 * one. What is said in the clear may only be said at a private address.
 */
export async function checkedAddress(
  host: string,
  { allowPrivate, inTheClear = false }: { readonly allowPrivate: boolean; readonly inTheClear?: boolean },
  resolve: Resolve = resolveHost,
): Promise<Address> {
  const bare = withoutBrackets(host);
  const literal = literalAddress(host);
  const all = literal === null ? await resolve(bare) : [literal];
  const [first] = all;
  if (first === undefined) throw new Error(`${bare} has no address`);
  const hidden = allowPrivate ? undefined : all.find((address) => !isPublic(address));
  if (hidden !== undefined) {
    throw new Error(
      `${bare} leads to ${hidden.address}, which is not a public address (the config file allows it with alerts.allow_private for its own receivers, with alerts.accounts_allow_private for those of accounts)`,
    );
  }
  const open = inTheClear ? all.find(isPublic) : undefined;
  if (open === undefined) return first;
  throw new Error(`${bare} leads to ${open.address}, which is a public address: it is not called without TLS`);
}

async function resolveHost(host: string): Promise<readonly Address[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
}
