/**
 * The ledger as an `account-admin` reaches it: one account, the accounts below it, and their keys. Whatever lies outside is
 * not there: an id of it gets the answer of an unknown one. What the operator gives (credit, token budgets, and everything
 * about the account at the top) can be read here and not changed, and what an operator has limited below stays so.
 */
import type { AccountSummary, LedgerAdmin, VersionedKeyChange } from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import type { OperatorSettings } from './operator-settings.ts';

type Bounds = Pick<OperatorSettings, 'requireKept' | 'binds'>;

/** What may be changed of a key whose tokens the operator gives away. */
const BUDGET_KEY_FIELDS: readonly (keyof VersionedKeyChange)[] = ['status', 'label', 'ifVersion'];

export class Subtree {
  /** It refuses every operation of the port that has no rule here, until somebody has decided about it. */
  readonly ledger: LedgerAdmin;
  readonly #all: LedgerAdmin;
  /** The id of the account at the top; null reaches nothing. */
  readonly #top: string | null;
  readonly #bounds: Bounds;

  constructor(all: LedgerAdmin, top: string | null, bounds: Bounds) {
    this.#all = all;
    this.#top = top;
    this.#bounds = bounds;
    const rules: Partial<LedgerAdmin> = { ...this.#readingRules(), ...this.#accountRules(), ...this.#keyRules() };
    this.ledger = new Proxy(all, {
      get: (_all, name: keyof LedgerAdmin) =>
        rules[name] ?? (() => Promise.reject(ofTheOperator(`use the operation ${name}`))),
    });
  }

  /** All of the subtree. */
  async keyIds(): Promise<ReadonlySet<string>> {
    return new Set(this.#top === null ? [] : await this.#all.keyIds(this.#top, true));
  }

  /** Those of these accounts that are in it. */
  async accountsAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await this.ledger.listAccounts({ ids });
    return new Set(found.map(({ account: { id } }) => id));
  }

  #readingRules(): Partial<LedgerAdmin> {
    const all = this.#all;
    const top = this.#top;
    return {
      getAccount: async (id) => ((await this.#hasAccount(id)) ? all.getAccount(id) : null),
      /** The account at the top is its only root. */
      listAccounts: async (query = {}) => {
        const { parentId, belowId, within } = query;
        if (top === null) return [];
        if (parentId === null) return all.listAccounts({ ...query, parentId: undefined, ids: [top] });
        const of = parentId ?? belowId ?? within;
        if (of === undefined) return all.listAccounts({ ...query, within: top });
        return (await this.#hasAccount(of)) ? all.listAccounts(query) : [];
      },
      getKey: async (id) => {
        const found = await all.getKey(id);
        const accountId = found?.key.accountId ?? null;
        return accountId !== null && (await this.#hasAccount(accountId)) ? found : null;
      },
      listKeys: async (query = {}) => {
        const { accountId } = query;
        if (accountId === null) return [];
        if (accountId !== undefined) return (await this.#hasAccount(accountId)) ? all.listKeys(query) : [];
        return top === null ? [] : all.listKeys({ ...query, accountId: top, below: true });
      },
      keyIds: async (accountId, below = false) =>
        accountId !== null && (await this.#hasAccount(accountId)) ? all.keyIds(accountId, below) : [],
      /** Who books at the operator's side is not for customers, nor is what lies outside: the root that took a key's credit. */
      statement: async (id, sinceMs, untilMs) => {
        if (!(await this.#hasPayer(id))) return { kind: 'unknown_payer' };
        const outcome = await all.statement(id, sinceMs, untilMs);
        if (outcome.kind !== 'statement') return outcome;
        const entries = outcome.entries.map(async (entry) => {
          const { kind, otherId } = entry;
          const isPayer = otherId !== null && (kind === 'transfer_out' || kind === 'transfer_in');
          return { ...entry, actor: null, otherId: isPayer && !(await this.#hasPayer(otherId)) ? null : otherId };
        });
        return { ...outcome, entries: await Promise.all(entries) };
      },
      promotions: async (id) => ((await this.#hasPayer(id)) ? all.promotions(id) : null),
      usageReport: async (query) => {
        const own = await this.keyIds();
        const keys = query.keys === undefined ? own : new Set([...query.keys].filter((id) => own.has(id)));
        return all.usageReport({ ...query, keys });
      },
    };
  }

  #accountRules(): Partial<LedgerAdmin> {
    const all = this.#all;
    return {
      createAccount: async (request) => {
        if (request.parentId === null) throw ofTheOperator('create an account without a parent', 'parent');
        if (!(await this.#hasAccount(request.parentId))) return { kind: 'unknown_account' };
        // Its uniqueness is over all accounts: a refusal would tell of the others.
        if (request.externalId !== null) throw ofTheOperator('set an external id', 'external_id');
        return all.createAccount(request);
      },
      changeAccount: async (accountId, change) => {
        if (!(await this.#hasAccount(accountId))) return { kind: 'unknown_account' };
        this.#refuseTop(accountId);
        if (change.externalId !== undefined) throw ofTheOperator('set an external id', 'external_id');
        await this.#bounds.requireKept(accountId, change);
        return all.changeAccount(accountId, change);
      },
      moveAccount: async (accountId, parentId) => {
        const path = await this.#pathTo(accountId);
        if (path.length === 0 || !(await this.#hasAccount(parentId))) return { kind: 'unknown_account' };
        this.#refuseTop(accountId);
        await this.#requireFree(path.slice(1), parentId);
        return all.moveAccount(accountId, parentId);
      },
    };
  }

  #keyRules(): Partial<LedgerAdmin> {
    const all = this.#all;
    return {
      createKey: async (request) => {
        const { accountId = null, mode } = request;
        if (accountId === null) throw ofTheOperator('create a key without an account', 'account');
        if (!(await this.#hasAccount(accountId))) throw new TypeError(`account ${accountId} was not looked up`);
        if (request.providerScope !== 'all') throw ofTheOperator('choose the provider', 'provider_scope');
        if (request.captureDays != null) throw ofTheOperator('turn capturing on or off', 'capture_days');
        if (mode !== 'credit')
          throw ofTheOperator('create a key with a token budget, which no credit pays for', 'mode');
        return all.createKey(request);
      },
      changeKey: async (keyId, change) => {
        const found = await this.ledger.getKey(keyId);
        if (found === null) return { kind: 'unknown_key' };
        const { key } = found;
        if (change.status === 'disabled') throw ofTheOperator('disable a key', 'status');
        if (key.status === 'disabled' && change.status !== undefined && change.status !== 'revoked') {
          throw ofTheOperator('enable a disabled key', 'status');
        }
        if (change.providerScope !== undefined) throw ofTheOperator('choose the provider', 'provider_scope');
        if (change.captureDays !== undefined) throw ofTheOperator('turn capturing on or off', 'capture_days');
        const fields = Object.keys(change) as (keyof VersionedKeyChange)[];
        const other = fields.find((name) => !BUDGET_KEY_FIELDS.includes(name));
        if (key.mode === 'token_budget' && other !== undefined) {
          throw ofTheOperator('change more of a token-budget key than its label and its status');
        }
        await this.#bounds.requireKept(keyId, change);
        return all.changeKey(keyId, change);
      },
      addSecret: async (keyId, digest, prefix) =>
        (await this.#hasKey(keyId)) ? all.addSecret(keyId, digest, prefix) : { kind: 'unknown_key' },
      revokeSecret: async (keyId, prefix) =>
        (await this.#hasKey(keyId)) ? all.revokeSecret(keyId, prefix) : { kind: 'unknown_key' },
      moveKey: async (keyId, accountId) => {
        const found = await this.ledger.getKey(keyId);
        if (found === null) return { kind: 'unknown_key' };
        if (!(await this.#hasAccount(accountId))) return { kind: 'unknown_account' };
        await this.#requireFree(await this.#pathTo(found.key.accountId), accountId);
        return all.moveKey(keyId, accountId);
      },
      /** A key that pays for itself belongs to no account, and so to no account-admin. */
      joinAccount: async () => ({ kind: 'unknown_key' }),
    };
  }

  /** Whether it is the account at the top or below it, as they are now. */
  async #hasAccount(accountId: string): Promise<boolean> {
    return (await this.#pathTo(accountId)).length > 0;
  }

  async #hasKey(keyId: string): Promise<boolean> {
    return (await this.ledger.getKey(keyId)) !== null;
  }

  async #hasPayer(id: string): Promise<boolean> {
    return (await this.#hasKey(id)) || (await this.#hasAccount(id));
  }

  /** From the account upwards to the one at the top; empty where it is not below that. */
  async #pathTo(accountId: string | null): Promise<readonly string[]> {
    const path: string[] = [];
    for (let id = accountId; id !== null; ) {
      const found: AccountSummary | null = await this.#all.getAccount(id);
      if (found !== null) path.push(id);
      if (found !== null && id === this.#top) return path;
      id = found?.account.parentId ?? null;
    }
    return [];
  }

  /** What an operator has limited or suspended is not escaped by a move out of it. */
  async #requireFree(from: readonly string[], to: string): Promise<void> {
    const kept = new Set(await this.#pathTo(to));
    for (const accountId of from) {
      if (kept.has(accountId) || !(await this.#bounds.binds(accountId))) continue;
      throw new AdminError(
        'forbidden',
        `an operator has limited or suspended ${accountId}: nothing can be moved out of it`,
      );
    }
  }

  #refuseTop(accountId: string): void {
    if (accountId !== this.#top) return;
    throw new AdminError('forbidden', 'You administer this account; only an operator can change it.');
  }
}

function ofTheOperator(what: string, field: string | null = null): AdminError {
  return new AdminError('forbidden', `${field === null ? '' : `${field}: `}only an operator can ${what}`, {
    field,
  });
}
