/** Draws operations on accounts. */
import type { Cap } from '../../src/core/account.ts';
import type { Restrictions } from '../../src/core/limits.ts';
import type { Operation, OperationOf } from '../../src/ledger/operations.ts';
import type { AccountChange } from '../../src/ledger/port.ts';
import { type DrawParts, MODELS, PERIODS } from './draw-parts.ts';

export function createAccount(parts: DrawParts, parentId: string | null): OperationOf<'createAccount'> {
  const random = parts.random;
  const id = parts.newId('a');
  return {
    op: 'createAccount',
    request: {
      id,
      parentId,
      name: `account ${id}`,
      externalId: random.chance(20) ? `external ${random.int(4)}` : null,
      labels: random.chance(20) ? { tier: 'gold' } : {},
      rpmLimit: random.chance(75) ? null : random.between(1, 8),
      ...parts.limits(),
      ...restrictions(parts),
      creditCap: cap(parts, 35, 2_500),
      tokenCap: cap(parts, 35, 2_500),
    },
  };
}

function restrictions(parts: DrawParts): Partial<Restrictions> {
  const random = parts.random;
  return {
    ...(random.chance(12) ? { models: [random.pick(MODELS)] } : {}),
    ...(random.chance(12) ? { outputLimit: random.between(1, 3) } : {}),
    ...(random.chance(12) ? { addresses: ['10.0.0.0/8'] } : {}),
  };
}

function cap(parts: DrawParts, percent: number, most: number): Cap | null {
  if (!parts.random.chance(percent)) return null;
  return { amount: parts.amount(most), period: parts.random.pick(PERIODS) };
}

export function accountCredit(parts: DrawParts, accountId: string): Operation {
  const amountNanos = parts.random.chance(2) ? 2n ** 63n - 1n : parts.amount(4_000);
  return {
    op: 'addAccountCredit',
    accountId,
    entryId: parts.newId('p'),
    amountNanos,
    note: null,
    ...parts.promotional(),
  };
}

export function onAccounts(parts: DrawParts): Operation {
  const random = parts.random;
  const ids = [...parts.model.accounts.keys()];
  const id = (random.chance(98) ? random.pick(ids) : undefined) ?? 'nobody';
  const keyId = parts.keyId();
  const kinds = { create: 2, change: 5, move: 6, moveKey: 2, join: 2, credit: 2, read: 1 };
  switch (random.weighted(kinds)) {
    case 'create':
      return random.chance(25) ? createAccount(parts, null) : createAccount(parts, id);
    case 'change':
      return { op: 'changeAccount', accountId: id, change: accountChange(parts, id) };
    case 'move':
      return { op: 'moveAccount', accountId: id, parentId: random.pick(ids) ?? 'nobody' };
    case 'moveKey':
      return { op: 'moveKey', keyId, accountId: id };
    case 'join':
      return { op: 'joinAccount', keyId, accountId: id, entryId: parts.newId('t') };
    case 'credit': {
      const roots = [...parts.model.accounts.values()].filter(({ record }) => record.parentId === null);
      return accountCredit(parts, random.chance(90) ? (random.pick(roots)?.record.id ?? id) : id);
    }
    case 'read':
      return { op: 'getAccount', accountId: id };
  }
}

function accountChange(parts: DrawParts, id: string): AccountChange {
  const random = parts.random;
  const status = parts.model.accounts.get(id)?.record.status;
  if (status === 'suspended' && random.chance(80)) return { status: 'active' };
  return random.pick<AccountChange>([
    { status: random.pick(['active', 'suspended', 'suspended', 'closed'] as const) },
    { rpmLimit: random.chance(50) ? null : random.between(0, 6) },
    random.chance(60)
      ? { tpmLimit: random.chance(50) ? null : random.between(0, 60) }
      : { parallelLimit: random.chance(60) ? null : random.between(0, 4) },
    { models: null, outputLimit: null, addresses: null, ...restrictions(parts) },
    { creditCap: cap(parts, 70, 2_500) },
    { tokenCap: cap(parts, 70, 2_500) },
    { name: 'renamed', labels: { tier: 'silver' }, externalId: `external ${random.int(4)}` },
  ]);
}
