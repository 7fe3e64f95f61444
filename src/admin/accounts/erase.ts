/**
 * The data of a customer who leaves: names, labels, ids of other systems, its account-admins, receivers of alerts and the request log go;
 * the entries of the ledger stay, under ids that say nothing, because balances and statements are recomputed from them.
 */
import { decimalCredits, parseCredits } from '../../core/money.ts';
import { AdminError } from '../error.ts';
import type { View } from '../http/view.ts';
import type { AdminService } from '../service.ts';
import type { AccountView, EraseBody, ErasedAccount } from './schema.ts';

/** What an erased account and its account-admins are called. */
const ERASED = 'erased';

/** Everything that is below it too. Repeated, it removes what has come since. */
export async function eraseAccount(
  admin: AdminService,
  id: string,
  { name }: View<typeof EraseBody>,
): Promise<View<typeof ErasedAccount>> {
  const account = await admin.accounts.show(id);
  requireErasable(account, name);
  const below = (await admin.accounts.find({ parent: id, below: 'yes' })).data;
  const keyIds = [...(await admin.keys.idsOf(id, true))];
  let namesKept = 0;
  for (const keyId of keyIds) {
    const { key } = await admin.keys.summary(keyId);
    // One change for both: nothing of a key can be changed once it is revoked.
    if (key.status !== 'revoked') {
      const nothing = { label: '', addresses: 'any', capture_days: 'off' } as const;
      await admin.keys.change(keyId, { ...nothing, status: 'revoked' }, undefined);
    } else if (key.label !== null) namesKept++;
  }
  const accounts = deepestFirst([account, ...below]);
  for (const each of accounts) {
    await admin.alerts.removeReceivers(each.id);
    if (each.status !== 'closed') {
      const nothing = { name: ERASED, external_id: '', labels: {}, addresses: 'any' } as const;
      await admin.accounts.change(each.id, { ...nothing, status: 'closed' }, undefined);
    } else if (each.name !== ERASED) namesKept++;
  }
  const accountIds = accounts.map((each) => each.id);
  await admin.operators.eraseBoundTo(accountIds, ERASED);
  await admin.alerts.forgetNames([...accountIds, ...keyIds]);
  const requests = await admin.requests.forget(keyIds);
  return { id, accounts: accounts.length, keys: keyIds.length, requests, names_kept: namesKept };
}

function requireErasable(account: AccountView, name: string): void {
  const { id, balance, promotional, live_holds } = account;
  if (name !== account.name) {
    throw new AdminError(
      'refused',
      `name is ${JSON.stringify(name)}: give the name of ${id}, so that no other account is erased by mistake`,
      {
        field: 'name',
      },
    );
  }
  if (live_holds > 0) {
    throw new AdminError(
      'refused',
      `${live_holds} requests of ${id} are in flight: suspend the account, stop them ("gateway keys stop"), and erase it then`,
    );
  }
  const left = ((balance ?? 0) - (promotional?.left ?? 0)).toFixed(9);
  if (Number(left) > 0) {
    const bought = decimalCredits(parseCredits(left));
    throw new AdminError(
      'refused',
      `${id} has ${bought} credits that were bought: pay them out, book that ("gateway correct ${id} --by -${bought} --reason …"), and erase it then`,
    );
  }
}

/** An account can be closed when those below it are. */
function deepestFirst(accounts: readonly AccountView[]): readonly AccountView[] {
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const depth = ({ parent }: AccountView): number => {
    const above = parent === null ? undefined : byId.get(parent);
    return above === undefined ? 0 : 1 + depth(above);
  };
  return accounts.toSorted((a, b) => depth(b) - depth(a));
}
