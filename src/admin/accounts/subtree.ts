/**
 * The ledger as an `account-admin` reaches it: one account, the accounts below it, and their keys. Whatever lies outside is
 * not there: an id of it gets the answer of an unknown one. What the operator gives (credit, token budgets, and everything
 * about the account at the top) can be read here and not changed, and what an operator has limited below stays so.
 */
import type { KeyRecord } from '../../core/key.ts';
import type { UsageOutcome, UsageQuery } from '../../core/usage-report.ts';
import type {
  AccountCreditOutcome,
  AccountListQuery,
  AccountOutcome,
  AccountSummary,
  AuditReport,
  CorrectionOutcome,
  CreditOutcome,
  FoundCharge,
  KeyChangeOutcome,
  KeyExpiry,
  KeyListQuery,
  KeyPlaceOutcome,
  KeySummary,
  LedgerAdmin,
  NewAccount,
  NewKey,
  OpenPromotion,
  OtherVersion,
  RefundOutcome,
  StatementOutcome,
  StoredDocument,
  VersionedAccountChange,
  VersionedKeyChange,
} from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import type { OperatorSettings } from './operator-settings.ts';

const UNKNOWN_KEY = { kind: 'unknown_key' } as const;
const UNKNOWN_ACCOUNT = { kind: 'unknown_account' } as const;
/** What may be changed of a key whose tokens the operator gives away. */
const BUDGET_KEY_FIELDS: readonly (keyof VersionedKeyChange)[] = ['status', 'label', 'ifVersion'];

/** It has every operation of the port, so that a new one is refused here until somebody has decided about it. */
export class SubtreeLedger implements LedgerAdmin {
  readonly #ledger: LedgerAdmin;
  /** The id of the account at the top; null reaches nothing. */
  readonly #top: string | null;
  readonly #settings: Pick<OperatorSettings, 'requireKept' | 'binds'>;

  constructor(ledger: LedgerAdmin, top: string | null, settings: Pick<OperatorSettings, 'requireKept' | 'binds'>) {
    this.#ledger = ledger;
    this.#top = top;
    this.#settings = settings;
  }

  /** The account at the top is its only root. */
  async listAccounts(query: AccountListQuery = {}): Promise<readonly AccountSummary[]> {
    const { parentId, belowId, within } = query;
    const top = this.#top;
    if (top === null) return [];
    if (parentId === null) return this.#ledger.listAccounts({ ...query, parentId: undefined, ids: [top] });
    const of = parentId ?? belowId ?? within;
    if (of === undefined) return this.#ledger.listAccounts({ ...query, within: top });
    return (await this.#hasAccount(of)) ? this.#ledger.listAccounts(query) : [];
  }

  async getAccount(accountId: string): Promise<AccountSummary | null> {
    return (await this.#hasAccount(accountId)) ? this.#ledger.getAccount(accountId) : null;
  }

  async createAccount(request: NewAccount): Promise<AccountOutcome> {
    if (request.parentId === null) throw ofTheOperator('an account without a parent', 'parent');
    if (!(await this.#hasAccount(request.parentId))) return UNKNOWN_ACCOUNT;
    // Its uniqueness is over all accounts: a refusal would tell of the others.
    if (request.externalId !== null) throw ofTheOperator('an external id', 'external_id');
    return this.#ledger.createAccount(request);
  }

  async changeAccount(accountId: string, change: VersionedAccountChange): Promise<AccountOutcome | OtherVersion> {
    if (!(await this.#hasAccount(accountId))) return UNKNOWN_ACCOUNT;
    this.#refuseTop(accountId);
    if (change.externalId !== undefined) throw ofTheOperator('an external id', 'external_id');
    await this.#settings.requireKept(accountId, change);
    return this.#ledger.changeAccount(accountId, change);
  }

  async moveAccount(accountId: string, parentId: string): Promise<AccountOutcome> {
    if (!(await this.#hasAccount(accountId)) || !(await this.#hasAccount(parentId))) return UNKNOWN_ACCOUNT;
    this.#refuseTop(accountId);
    await this.#requireFree((await this.#pathTo(accountId)).slice(1), parentId);
    return this.#ledger.moveAccount(accountId, parentId);
  }

  async moveKey(keyId: string, accountId: string): Promise<KeyPlaceOutcome> {
    const found = await this.getKey(keyId);
    if (found === null) return UNKNOWN_KEY;
    if (!(await this.#hasAccount(accountId))) return UNKNOWN_ACCOUNT;
    await this.#requireFree(await this.#pathTo(found.key.accountId), accountId);
    return this.#ledger.moveKey(keyId, accountId);
  }

  /** A key that pays for itself belongs to no account, and so to no account-admin. */
  async joinAccount(): Promise<KeyPlaceOutcome> {
    return UNKNOWN_KEY;
  }

  async addAccountCredit(): Promise<AccountCreditOutcome> {
    throw ofTheOperator('credit');
  }

  async correct(): Promise<CorrectionOutcome> {
    throw ofTheOperator('credit');
  }

  async refund(): Promise<RefundOutcome> {
    throw ofTheOperator('credit');
  }

  /** Who books at the operator's side is not for customers. */
  async statement(id: string, sinceMs: number, untilMs: number): Promise<StatementOutcome> {
    const inside = (await this.#hasAccount(id)) || (await this.getKey(id)) !== null;
    const outcome: StatementOutcome = inside
      ? await this.#ledger.statement(id, sinceMs, untilMs)
      : { kind: 'unknown_payer' };
    if (outcome.kind !== 'statement') return outcome;
    return { ...outcome, entries: outcome.entries.map((entry) => ({ ...entry, actor: null })) };
  }

  async promotions(id: string): Promise<readonly OpenPromotion[] | null> {
    const inside = (await this.#hasAccount(id)) || (await this.getKey(id)) !== null;
    return inside ? this.#ledger.promotions(id) : null;
  }

  async findCharge(requestId: string): Promise<FoundCharge | null> {
    const found = await this.#ledger.findCharge(requestId);
    return found !== null && (await this.getKey(found.keyId)) !== null ? found : null;
  }

  async createKey(request: NewKey): Promise<KeyRecord> {
    const { accountId = null, mode } = request;
    if (accountId === null) throw ofTheOperator('a key without an account', 'account');
    if (!(await this.#hasAccount(accountId))) throw new TypeError(`account ${accountId} was not looked up`);
    if (request.providerScope !== 'all') throw ofTheOperator('a provider', 'provider_scope');
    if (request.captureDays != null) throw ofTheOperator('capture', 'capture_days');
    if (mode !== 'credit') throw ofTheOperator('a token budget, which no credit pays for,', 'mode');
    return this.#ledger.createKey(request);
  }

  async createKeys(): Promise<readonly KeyRecord[]> {
    throw ofTheOperator('an import of keys');
  }

  async listKeys(query: KeyListQuery = {}): Promise<readonly KeySummary[]> {
    const { accountId } = query;
    if (accountId === null) return [];
    if (accountId !== undefined) return (await this.#hasAccount(accountId)) ? this.#ledger.listKeys(query) : [];
    return this.#top === null ? [] : this.#ledger.listKeys({ ...query, accountId: this.#top, below: true });
  }

  async keyIds(accountId: string | null, below = false): Promise<readonly string[]> {
    if (accountId === null || !(await this.#hasAccount(accountId))) return [];
    return this.#ledger.keyIds(accountId, below);
  }

  /** All of the subtree. */
  async ownKeyIds(): Promise<readonly string[]> {
    return this.#top === null ? [] : this.#ledger.keyIds(this.#top, true);
  }

  async findKey(): Promise<KeyRecord | null> {
    throw ofTheOperator('a key by its secret');
  }

  async expiringKeys(): Promise<readonly KeyExpiry[]> {
    throw ofTheOperator('the list of keys that expire');
  }

  async getKey(keyId: string): Promise<KeySummary | null> {
    const found = await this.#ledger.getKey(keyId);
    const accountId = found?.key.accountId ?? null;
    return accountId !== null && (await this.#hasAccount(accountId)) ? found : null;
  }

  async changeKey(keyId: string, change: VersionedKeyChange): Promise<KeyChangeOutcome> {
    const found = await this.getKey(keyId);
    if (found === null) return UNKNOWN_KEY;
    const { key } = found;
    if (change.status === 'disabled') throw ofTheOperator('the status disabled', 'status');
    if (key.status === 'disabled' && change.status !== undefined && change.status !== 'revoked') {
      throw ofTheOperator('the end of the status disabled', 'status');
    }
    if (change.providerScope !== undefined) throw ofTheOperator('a provider', 'provider_scope');
    if (change.captureDays !== undefined) throw ofTheOperator('capture', 'capture_days');
    const fields = Object.keys(change) as (keyof VersionedKeyChange)[];
    const other = fields.find((name) => !BUDGET_KEY_FIELDS.includes(name));
    if (key.mode === 'token_budget' && other !== undefined) {
      throw ofTheOperator('everything about a token-budget key but its label and its status');
    }
    await this.#settings.requireKept(keyId, change);
    return this.#ledger.changeKey(keyId, change);
  }

  async addSecret(keyId: string, digest: string, prefix: string): Promise<KeyChangeOutcome> {
    return (await this.getKey(keyId)) === null ? UNKNOWN_KEY : this.#ledger.addSecret(keyId, digest, prefix);
  }

  async revokeSecret(keyId: string, prefix: string): Promise<KeyChangeOutcome> {
    return (await this.getKey(keyId)) === null ? UNKNOWN_KEY : this.#ledger.revokeSecret(keyId, prefix);
  }

  async addCredit(): Promise<CreditOutcome> {
    throw ofTheOperator('credit');
  }

  async audit(): Promise<AuditReport> {
    throw ofTheOperator('the audit');
  }

  async usageReport(query: UsageQuery): Promise<UsageOutcome> {
    const own = new Set(await this.ownKeyIds());
    const keys = query.keys === undefined ? own : new Set([...query.keys].filter((id) => own.has(id)));
    return this.#ledger.usageReport({ ...query, keys });
  }

  async getDocument(): Promise<StoredDocument | null> {
    throw ofTheOperator('a document of the store');
  }

  async putDocument(): Promise<void> {
    throw ofTheOperator('a document of the store');
  }

  /** Whether it is the account at the top or below it, as they are now. */
  async #hasAccount(accountId: string): Promise<boolean> {
    return (await this.#pathTo(accountId)).length > 0;
  }

  /** From the account upwards to the one at the top; empty where it is not below that. */
  async #pathTo(accountId: string | null): Promise<readonly string[]> {
    const path: string[] = [];
    for (let id = accountId; id !== null; ) {
      const found: AccountSummary | null = await this.#ledger.getAccount(id);
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
      if (kept.has(accountId) || !(await this.#settings.binds(accountId))) continue;
      throw new AdminError(
        'forbidden',
        `an operator has limited or suspended ${accountId}: nothing can be moved out of it`,
      );
    }
  }

  #refuseTop(accountId: string): void {
    if (accountId !== this.#top) return;
    throw new AdminError(
      'forbidden',
      `${accountId} is the account that you administer: what it is and may, the operator says`,
    );
  }
}

function ofTheOperator(what: string, field: string | null = null): AdminError {
  return new AdminError('forbidden', `${field === null ? '' : `${field}: `}${what} is for the operator to give`, {
    field,
  });
}
