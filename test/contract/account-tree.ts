/** A small tree of accounts, which the contract of accounts stands on. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AccountSummary, AdmitOutcome, HoldRequest, NewAccount, NewKey } from '../../src/ledger/port.ts';
import { admitRequest, Bench, newAccount, newKey, type OpenBooks } from './fixtures.ts';

/** An organisation with credit, a team of it and a project of that. */
export interface Tree {
  readonly bench: Bench;
  readonly org: string;
  readonly team: string;
  readonly project: string;
  key(accountId: string, change?: Partial<NewKey>): Promise<string>;
  account(change: Partial<NewAccount>): Promise<string>;
  /** Figures of accounts: used, reserved; tokens used, tokens reserved; live holds. */
  figures(...ids: string[]): Promise<readonly (readonly unknown[])[]>;
  admit(keyId: string, amount: bigint, hold?: Partial<HoldRequest>, keyVersion?: number): Promise<AdmitOutcome>;
}

export async function openTree(open: OpenBooks, credit: bigint, changes: Partial<NewAccount>[] = []): Promise<Tree> {
  const bench = await Bench.open(open);
  const account = async (change: Partial<NewAccount>): Promise<string> => {
    const request = newAccount(change);
    assert.equal((await bench.ledger.createAccount(request)).kind, 'account');
    return request.id;
  };
  const org = await account({ name: 'org', ...changes[0] });
  if (credit > 0n) {
    const outcome = await bench.ledger.addAccountCredit(org, 'first', credit, null);
    assert.equal(outcome.kind, 'account_credited');
  }
  const team = await account({ name: 'team', parentId: org, ...changes[1] });
  const project = await account({ name: 'project', parentId: team, ...changes[2] });
  const summaryOf = async (id: string): Promise<AccountSummary> => {
    const summary = await bench.ledger.getAccount(id);
    assert.ok(summary);
    return summary;
  };
  return {
    bench,
    org,
    team,
    project,
    account,
    key: async (accountId, change = {}) => (await bench.ledger.createKey(newKey({ accountId, ...change }))).id,
    figures: (...ids) =>
      Promise.all(
        ids.map(async (id) => {
          const { used, reserved, tokensUsed, reservedTokens, liveHolds } = await summaryOf(id);
          return [used, reserved, tokensUsed, reservedTokens, liveHolds];
        }),
      ),
    admit: (keyId, amount, hold = {}, keyVersion = 1) => {
      const id = hold.id ?? randomUUID();
      const whole = { id, amount, amountMin: amount, ttlMs: 600_000, ...hold };
      return bench.ledger.admit(admitRequest(keyId, id, amount, { hold: whole, keyVersion }));
    },
  };
}
