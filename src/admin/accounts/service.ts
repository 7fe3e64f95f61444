/** What an operator can do with accounts, on an opened store. */

import type { AccountRecord, Cap } from '../../core/account.ts';
import { AMOUNT_MAX, creditsFromNanos, parseCredits } from '../../core/money.ts';
import { PERIODS, type Period } from '../../core/period.ts';
import type {
  AccountChange,
  AccountListQuery,
  AccountOutcome,
  AccountSummary,
  KeyPlaceOutcome,
  LedgerAdmin,
  OtherVersion,
  UnknownAccount,
} from '../../ledger/port.ts';
import { AdminError } from '../error.ts';
import { changedMeanwhile } from '../http/if-match.ts';
import { pageOf, requireCursor } from '../http/page.ts';
import { fieldNames, invalid, unexpected } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { newId } from '../ids.ts';
import { readCredit } from '../keys/input.ts';
import { limitsView, readLimits, requireKnownModels } from '../keys/limits.ts';
import type { CreditBody } from '../keys/schema.ts';
import { withPromotions } from '../keys/view.ts';
import type { OperatorSettings } from './operator-settings.ts';
import type { AccountList, AccountView } from './schema.ts';
import {
  AccountChangeBody,
  type AccountKeyBody,
  type AccountMoveBody,
  type AccountQuery,
  type AccountSettings,
  type NewAccountBody,
  NO_PARENT,
} from './schema.ts';

interface AccountServiceOptions {
  readonly ledger: LedgerAdmin;
  /** Whoever acts, as the statements name it. */
  readonly actorId: string | null;
  /** The topmost account that the caller sees; null where that is every root. */
  readonly top: string | null;
  /** What the running gateway's catalog has; null where that is not known, or not for the caller. */
  readonly known: (() => { readonly models: readonly string[] }) | null;
  /** Where it is noted what an operator sets; null where the caller is none. */
  readonly settings: OperatorSettings | null;
  /** The key belongs to another account than before. */
  keyMoved(keyId: string, accountId: string): Promise<void>;
}

export class AccountService {
  readonly #ledger: LedgerAdmin;
  readonly #actorId: string | null;
  readonly #top: string | null;
  readonly #known: AccountServiceOptions['known'];
  readonly #settings: OperatorSettings | null;
  readonly #keyMoved: AccountServiceOptions['keyMoved'];

  constructor({ ledger, actorId, top, known, settings, keyMoved }: AccountServiceOptions) {
    this.#ledger = ledger;
    this.#actorId = actorId;
    this.#top = top;
    this.#known = known;
    this.#settings = settings;
    this.#keyMoved = keyMoved;
  }

  async create(body: View<typeof NewAccountBody>): Promise<AccountView> {
    const id = newId('acct');
    const parentId = body.parent ?? null;
    const settings = readSettings(body);
    requireKnownModels(this.#known?.(), settings.models ?? null);
    const outcome = await this.#ledger.createAccount({
      id,
      parentId,
      name: body.name.toWellFormed(),
      externalId: null,
      labels: {},
      rpmLimit: null,
      creditCap: null,
      tokenCap: null,
      ...settings,
    });
    requireAccount(parentId ?? id, outcome);
    if (outcome.kind === 'account') await this.#settings?.note(outcome.account);
    return this.show(id);
  }

  async find({
    limit: perPage,
    cursor,
    parent,
    below,
    ...filters
  }: View<typeof AccountQuery>): Promise<View<typeof AccountList>> {
    if (cursor !== undefined) requireCursor(await this.#ledger.getAccount(cursor));
    const query = { ...filters, after: cursor, ...(await this.#placeOf(parent, below === 'yes')) };
    const top = await this.#topmost();
    return pageOf(
      perPage,
      (limit) => this.#ledger.listAccounts({ ...query, limit }),
      (summary) => accountView(summary, top),
    );
  }

  /** Those that have one of the names as their id or as their external id, by all of these; an id counts before an external one. */
  async named(names: readonly string[]): Promise<ReadonlyMap<string, AccountRecord>> {
    const [byId, byExternalId] = await Promise.all([
      this.#ledger.listAccounts({ ids: names }),
      this.#ledger.listAccounts({ externalIds: names }),
    ]);
    return new Map([
      ...byExternalId.map(({ account }) => [account.externalId ?? '', account] as const),
      ...[...byExternalId, ...byId].map(({ account }) => [account.id, account] as const),
    ]);
  }

  async #topmost(): Promise<AccountRecord | null> {
    return this.#top === null ? null : ((await this.#ledger.getAccount(this.#top))?.account ?? null);
  }

  /** Nothing is below an account that does not exist; whoever asks is told rather than shown an empty list. */
  async #placeOf(parent: string | undefined, below: boolean): Promise<Pick<AccountListQuery, 'parentId' | 'belowId'>> {
    if (below && (parent === undefined || parent === NO_PARENT)) {
      throw invalid('below', 'applies only together with parent: give the id of an account');
    }
    if (parent === undefined) return {};
    if (parent === NO_PARENT) return { parentId: null };
    if ((await this.#ledger.getAccount(parent)) === null) throw unknownAccount(parent, 'parent');
    return below ? { belowId: parent } : { parentId: parent };
  }

  async summary(accountId: string): Promise<AccountSummary> {
    const summary = await this.#ledger.getAccount(accountId);
    if (summary === null) throw unknownAccount(accountId);
    return summary;
  }

  async show(accountId: string): Promise<AccountView> {
    const summary = await this.summary(accountId);
    const view = accountView(summary, await this.#topmost());
    return view.balance === null ? view : withPromotions(view, (await this.#ledger.promotions(accountId)) ?? []);
  }

  /** With `version`, only where that is still the version of the account. */
  async change(
    accountId: string,
    body: View<typeof AccountChangeBody>,
    ifVersion: number | undefined,
  ): Promise<AccountView> {
    const change: AccountChange = {
      ...(body.name !== undefined && { name: body.name.toWellFormed() }),
      ...(body.status !== undefined && { status: body.status }),
      ...readSettings(body),
    };
    if (Object.keys(change).length === 0) {
      throw new AdminError(
        'invalid_input',
        `nothing to change: give one of ${fieldNames(AccountChangeBody).join(', ')}`,
      );
    }
    requireKnownModels(this.#known?.(), change.models ?? null);
    const versioned = { ...change, ...(ifVersion !== undefined && { ifVersion }) };
    const outcome = await this.#ledger.changeAccount(accountId, versioned);
    requireAccount(accountId, outcome);
    if (outcome.kind === 'account') await this.#settings?.note(outcome.account, Object.keys(change));
    return this.show(accountId);
  }

  async move(accountId: string, { parent }: View<typeof AccountMoveBody>): Promise<AccountView> {
    requireAccount(accountId, await this.#ledger.moveAccount(accountId, parent));
    return this.show(accountId);
  }

  async addCredit(accountId: string, body: View<typeof CreditBody>): Promise<AccountView> {
    const { entryId, amountNanos, note, expiresAtMs } = readCredit(body);
    requireAccount(
      accountId,
      await this.#ledger.addAccountCredit(accountId, entryId ?? newId('credit'), amountNanos, note, {
        actor: this.#actorId,
        expiresAtMs,
      }),
    );
    return this.show(accountId);
  }

  /** A key that pays for itself joins with its balance; a key of another account of the same root moves. */
  async addKey(accountId: string, { key: keyId, entry_id }: View<typeof AccountKeyBody>): Promise<AccountView> {
    const summary = await this.#ledger.getKey(keyId);
    const outcome: KeyPlaceOutcome =
      summary === null
        ? { kind: 'unknown_key' }
        : summary.key.accountId === null
          ? await this.#ledger.joinAccount(keyId, accountId, entry_id?.toWellFormed() ?? newId('transfer'))
          : await this.#ledger.moveKey(keyId, accountId);
    if (outcome.kind === 'unknown_key') {
      throw new AdminError(
        'unknown_key',
        `key ${JSON.stringify(keyId)} does not exist: list the keys with "gateway keys list"`,
        { field: 'key' },
      );
    }
    if (outcome.kind !== 'changed') requireAccount(accountId, outcome);
    else {
      // Whatever it was limited to so far, operators have set: before, no account-admin had it.
      if (summary?.key.accountId === null) await this.#settings?.note(outcome.key);
      // The counts may be out of reach; the key has moved all the same.
      await this.#keyMoved(keyId, accountId).catch(() => {});
    }
    return this.show(accountId);
  }
}

function requireAccount(
  accountId: string,
  outcome: AccountOutcome | OtherVersion | UnknownAccount | { readonly kind: 'account_credited' },
): void {
  if (outcome.kind === 'other_version') throw changedMeanwhile(`account ${accountId}`, outcome);
  if (outcome.kind === 'unknown_account') throw unknownAccount(accountId);
  if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
}

function unknownAccount(accountId: string, field: string | null = null): AdminError {
  return new AdminError(
    'unknown_account',
    `account ${JSON.stringify(accountId)} does not exist: list the accounts with "gateway accounts list"`,
    { field },
  );
}

function readSettings(body: AccountSettings): AccountChange {
  const { external_id, labels, credit_cap, token_cap } = body;
  return {
    ...(external_id !== undefined && { externalId: external_id?.toWellFormed() || null }),
    ...(labels !== undefined && { labels }),
    ...readLimits(body),
    ...(credit_cap !== undefined && { creditCap: readCap('credit_cap', credit_cap, parseCredits) }),
    ...(token_cap !== undefined && { tokenCap: readCap('token_cap', token_cap, BigInt) }),
  };
}

type CapField = 'credit_cap' | 'token_cap';
type GivenCap = NonNullable<AccountSettings[CapField]> | null;

function readCap(field: CapField, value: GivenCap, parse: (amount: string) => bigint): Cap | null {
  if (value === null || value === 'none') return null;
  const [amount, period] = typeof value === 'string' ? partsOf(value) : [String(value.amount), value.period];
  try {
    const parsed = /^\d/.test(amount) ? parse(amount) : null;
    if (parsed !== null && parsed <= AMOUNT_MAX && isPeriod(period)) return { amount: parsed, period };
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof SyntaxError)) throw error;
  }
  throw unexpected(AccountChangeBody, field, value);
}

function partsOf(value: string): readonly [amount: string, period: string] {
  const [amount = '', period = '', ...more] = value.split('/');
  return more.length > 0 ? ['', ''] : [amount, period];
}

function isPeriod(text: string): text is Period {
  return PERIODS.some((period) => period === text);
}

/** Of what is above `top`, neither ids nor names are shown. */
function accountView(summary: AccountSummary, top: AccountRecord | null): AccountView {
  const { account, purchased, used, reserved } = summary;
  const isRoot = account.parentId === null;
  return {
    id: account.id,
    version: account.version,
    name: account.name,
    external_id: account.externalId,
    labels: account.labels,
    status: account.status,
    parent: account.id === top?.id ? null : account.parentId,
    root: top?.id ?? account.rootId,
    root_name: top?.name ?? summary.rootName,
    is_parent: summary.isParent,
    ...limitsView(account),
    ...capViews(account),
    created_at: new Date(account.createdAtMs).toISOString(),
    credit: isRoot ? creditsFromNanos(purchased) : null,
    balance: isRoot ? creditsFromNanos(purchased - used) : null,
    used: creditsFromNanos(used),
    reserved: creditsFromNanos(reserved),
    credit_used: creditsFromNanos(summary.creditUsed),
    tokens_used: Number(summary.tokensUsed),
    tokens_reserved: Number(summary.reservedTokens),
    live_holds: summary.liveHolds,
  };
}

function capViews({ creditCap, tokenCap }: AccountRecord): Pick<AccountView, CapField> {
  return {
    credit_cap: creditCap && { amount: creditsFromNanos(creditCap.amount), period: creditCap.period },
    token_cap: tokenCap && { amount: Number(tokenCap.amount), period: tokenCap.period },
  };
}
