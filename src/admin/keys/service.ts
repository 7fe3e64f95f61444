/** Keys on an opened store: made, changed, given secrets and credit. */

import type { AccountRecord } from '../../core/account.ts';
import type { Clock } from '../../core/clock.ts';
import { digestOfKey, keyDigest, keyPrefix, keyStatus, type Mode, modeOfKeyText, newKeyText } from '../../core/key.ts';
import { periodEndMs } from '../../core/period.ts';
import type { KeyChangeOutcome, KeySummary, LedgerAdmin, NewKey } from '../../ledger/port.ts';
import { isObject } from '../../lib/json.ts';
import type { OperatorSettings } from '../accounts/operator-settings.ts';
import type { AccountService } from '../accounts/service.ts';
import { AdminError } from '../error.ts';
import { changedMeanwhile } from '../http/if-match.ts';
import { pageOf, requireCursor } from '../http/page.ts';
import { invalid, validBody } from '../http/validate.ts';
import type { View } from '../http/view.ts';
import { newId } from '../ids.ts';
import { type NewKeyPlan, readCredit, readKeyChange, readNewKey } from './input.ts';
import { requireKnownModels } from './limits.ts';
import type { CreatedKey, CreditBody, ImportedKeysView, KeyChangeBody, KeyList, KeyView } from './schema.ts';
import { type KeyImportBody, type KeyQuery, NewKeyBody, NO_ACCOUNT } from './schema.ts';
import { keyView, withPromotions } from './view.ts';

export interface KeyServiceOptions {
  readonly ledger: LedgerAdmin;
  /** Keys the digests under which secrets are stored. */
  readonly installationSecret: string;
  readonly clock: Clock;
  /** Where callers reach the gateway, e.g. `http://127.0.0.1:8080`. */
  readonly gatewayOrigin: string;
  /**
   * What the running gateway's catalog knows now. A scope or entitlement outside of it is refused. Null where no
   * gateway is running: the catalog may differ by the time the key is used, so every name is accepted.
   */
  readonly known: (() => KnownNames) | null;
  /** Where it is noted what an operator sets; null where the caller is none. */
  readonly settings: OperatorSettings | null;
}

interface KnownNames {
  readonly providers: readonly string[];
  readonly models: readonly string[];
}

interface PlannedKey {
  readonly plan: NewKeyPlan;
  /** Null where the client has it already. */
  readonly text: string | null;
  readonly request: NewKey;
}

export class KeyService {
  readonly #options: KeyServiceOptions;
  readonly #accounts: AccountService;
  readonly #actorId: string | null;

  constructor(options: KeyServiceOptions, accounts: AccountService, actorId: string | null) {
    this.#options = options;
    this.#accounts = accounts;
    this.#actorId = actorId;
  }

  async create(body: View<typeof NewKeyBody>): Promise<CreatedKey> {
    const plan = readNewKey(body);
    this.#requireKnown(plan.providerScope, plan.models);
    // The ledger's own refusal would be a failure of the operation.
    if (plan.accountId !== null) await this.#requireOpenAccount(plan.accountId);
    const secret = this.#newSecret(plan.mode);
    const id = newId('key');
    // Before it is made: once there is a text, nothing may fail until it is shown.
    if (plan.accountId !== null) await this.#options.settings?.note({ ...plan, id });
    const key = await this.#options.ledger.createKey({
      ...plan,
      id,
      secret: { digest: secret.digest, prefix: secret.prefix },
    });
    // The text exists only here: a second read of the store could fail and lose it.
    const summary = this.#freshSummary(plan, key);
    return { ...keyView(summary, this.#options.gatewayOrigin), key: secret.text };
  }

  async import({ keys, dry_run = false }: View<typeof KeyImportBody>): Promise<ImportedKeysView> {
    const accounts = await this.#accounts.named([...new Set(keys.map(accountNamed).filter((name) => name !== null))]);
    const made: PlannedKey[] = [];
    const digests = new Map<string, number>();
    for (const [index, given] of keys.entries()) {
      try {
        const planned = await this.#planned(withAccountId(given, accounts), accounts);
        const same = digests.get(planned.request.secret.digest);
        if (same !== undefined) throw invalid('key', `is the same as that of keys[${same}]`);
        digests.set(planned.request.secret.digest, index);
        made.push(planned);
      } catch (error) {
        if (!(error instanceof AdminError)) throw error;
        throw new AdminError(error.code, `keys[${index}] ${error.message}`, { field: `keys[${index}]`, cause: error });
      }
    }
    if (dry_run) return { object: 'list', data: [], keys: made.length };
    const requests = made.map(({ request }) => request);
    await this.#options.settings?.noteAll(requests.filter(({ accountId }) => accountId !== null));
    const records = await this.#options.ledger.createKeys(requests);
    const data = made.map(({ plan, text }, index) => {
      const key = records[index];
      if (key === undefined) throw new TypeError('the ledger made fewer keys than it was given');
      return { ...keyView(this.#freshSummary(plan, key), this.#options.gatewayOrigin), key: text };
    });
    return { object: 'list', data, keys: data.length };
  }

  /** Whether it can be made is known now, but for what the ledger alone knows. */
  async #planned(given: unknown, accounts: ReadonlyMap<string, AccountRecord>): Promise<PlannedKey> {
    const { key: taken, ...settings } = isObject(given) ? given : {};
    const plan = readNewKey(validBody(NewKeyBody, taken === undefined ? given : settings));
    this.#requireKnown(plan.providerScope, plan.models);
    const account = plan.accountId === null ? undefined : accounts.get(plan.accountId);
    if (plan.accountId !== null && account === undefined) {
      throw invalid('account', `is ${JSON.stringify(plan.accountId)}: there is no account with this id or external id`);
    }
    if (account?.status === 'closed') throw invalid('account', `is ${JSON.stringify(account.id)}, which is closed`);
    const { text, digest, prefix } =
      taken === undefined ? this.#newSecret(plan.mode) : { text: null, ...(await this.#takenSecret(taken, plan.mode)) };
    return { plan, text, request: { ...plan, id: newId('key'), secret: { digest, prefix } } };
  }

  async find({
    limit: perPage,
    cursor,
    account,
    below,
    ...filters
  }: View<typeof KeyQuery>): Promise<View<typeof KeyList>> {
    const { ledger, gatewayOrigin } = this.#options;
    if (cursor !== undefined) requireCursor(await ledger.getKey(cursor));
    const accountId = account === NO_ACCOUNT ? null : account;
    const query = { ...filters, after: cursor, accountId, below: below === 'yes' };
    const page = await pageOf(
      perPage,
      (limit) => ledger.listKeys({ ...query, limit }),
      (summary) => keyView(summary, gatewayOrigin),
    );
    const ids = [...new Set(page.data.flatMap(({ account: of }) => (of === undefined ? [] : [of])))];
    const accounts = ids.length === 0 ? [] : await ledger.listAccounts({ ids });
    const names = new Map(accounts.map(({ account: { id, name } }) => [id, name]));
    const data = page.data.map((key) => {
      const account_name = names.get(key.account ?? '');
      return account_name === undefined ? key : { ...key, account_name };
    });
    return { ...page, data };
  }

  async show(keyId: string): Promise<KeyView> {
    const { ledger, gatewayOrigin } = this.#options;
    const summary = await this.summary(keyId);
    const view = keyView(summary, gatewayOrigin);
    const paysItself = summary.key.mode === 'credit' && summary.key.accountId === null;
    return paysItself ? withPromotions(view, (await ledger.promotions(keyId)) ?? []) : view;
  }

  /** With `version`, only where that is still the version of the key. */
  async change(keyId: string, body: View<typeof KeyChangeBody>, version: number | undefined): Promise<KeyView> {
    const change = { ...readKeyChange(body), ...(version !== undefined && { ifVersion: version }) };
    this.#requireKnown(change.providerScope ?? 'all', change.models ?? null);
    if (change.budget !== undefined || change.period !== undefined) {
      const { key } = await this.summary(keyId);
      if (key.mode === 'credit' && (key.accountId === null || change.budget !== undefined))
        throw new AdminError('refused', `${keyId} is a credit key: it has no budget and no period`);
    }
    const outcome = await this.#options.ledger.changeKey(keyId, change);
    requireChanged(keyId, outcome);
    if (outcome.kind === 'changed' && outcome.key.accountId !== null) {
      await this.#options.settings?.note(outcome.key, Object.keys(change));
    }
    return this.show(keyId);
  }

  /** Rotation: adds a secret to the key. The older ones keep working until they are revoked. */
  async addSecret(keyId: string): Promise<CreatedKey> {
    const { key } = await this.summary(keyId);
    const secret = this.#newSecret(key.mode);
    requireChanged(keyId, await this.#options.ledger.addSecret(keyId, secret.digest, secret.prefix));
    return { ...(await this.show(keyId)), key: secret.text };
  }

  async revokeSecret(keyId: string, prefix: string): Promise<KeyView> {
    const { secretPrefixes } = await this.summary(keyId);
    if (!secretPrefixes.includes(prefix)) {
      throw new AdminError(
        'refused',
        `key ${keyId} has no secret that begins with ${JSON.stringify(prefix)}: it has ${secretPrefixes.join(', ')}`,
      );
    }
    if (secretPrefixes.length === 1) {
      throw new AdminError(
        'refused',
        `${prefix} is the only secret of ${keyId}: add another one first, or revoke the key`,
      );
    }
    requireChanged(keyId, await this.#options.ledger.revokeSecret(keyId, prefix));
    return this.show(keyId);
  }

  async addCredit(keyId: string, body: View<typeof CreditBody>): Promise<KeyView> {
    const plan = readCredit(body);
    const entryId = plan.entryId ?? newId('credit');
    const outcome = await this.#options.ledger.addCredit(keyId, entryId, plan.amountNanos, plan.note, {
      actor: this.#actorId,
      expiresAtMs: plan.expiresAtMs,
    });
    if (outcome.kind === 'unknown_key') throw unknownKey(keyId);
    if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
    return this.show(keyId);
  }

  async #requireOpenAccount(accountId: string): Promise<void> {
    const { status } = await this.#accounts.show(accountId);
    if (status === 'closed') throw new AdminError('refused', `account ${accountId} is closed`, { field: 'account' });
  }

  async summary(keyId: string): Promise<KeySummary> {
    const summary = await this.#options.ledger.getKey(keyId);
    if (summary === null) throw unknownKey(keyId);
    return summary;
  }

  /** The keys of an account, with or without those of the accounts below it; null as its id: those that have none. */
  async idsOf(accountId: string | null, below: boolean): Promise<ReadonlySet<string>> {
    if (accountId !== null) await this.#accounts.show(accountId);
    return new Set(await this.#options.ledger.keyIds(accountId, below));
  }

  #freshSummary(plan: NewKeyPlan, key: KeySummary['key']): KeySummary {
    const nowMs = this.#options.clock.nowMs();
    return {
      key,
      status: keyStatus(key, nowMs),
      secretPrefixes: [key.prefix],
      purchased: plan.credit,
      used: 0n,
      lastCost: 0n,
      todaySpend: 0n,
      reserved: 0n,
      liveHolds: 0,
      periodUsed: 0n,
      periodEndsAtMs: plan.mode === 'token_budget' ? periodEndMs(plan.period, nowMs) : null,
      inputTokens: 0n,
      outputTokens: 0n,
      requests: 0,
    };
  }

  #newSecret(mode: Mode): { text: string; digest: string; prefix: string } {
    const text = newKeyText(mode);
    return {
      text,
      digest: keyDigest(this.#options.installationSecret, text),
      prefix: keyPrefix(text),
    };
  }

  /** The text is digested here, and neither stored, shown nor named in a refusal. */
  async #takenSecret(text: unknown, mode: Mode): Promise<{ digest: string; prefix: string }> {
    const { ledger, installationSecret } = this.#options;
    const digest = typeof text === 'string' ? digestOfKey(installationSecret, text) : null;
    if (typeof text !== 'string' || digest === null) {
      throw invalid('key', 'must be the text of a key: 20 to 200 printable ASCII characters without spaces');
    }
    if ((modeOfKeyText(text) ?? mode) !== mode)
      throw invalid('key', `is the text of a key of another mode than ${mode}`);
    if ((await ledger.findKey(digest)) !== null) throw invalid('key', 'is the text of an existing key');
    return { digest, prefix: keyPrefix(text) };
  }

  #requireKnown(providerScope: string, models: readonly string[] | null): void {
    const known = this.#options.known?.();
    if (known === undefined) return;
    if (providerScope !== 'all' && !known.providers.includes(providerScope)) {
      throw new AdminError(
        'invalid_input',
        `provider_scope ${JSON.stringify(providerScope)} is not a provider of this gateway: expected one of all, ${known.providers.join(', ')}`,
        { field: 'provider_scope' },
      );
    }
    requireKnownModels(known, models);
  }
}

/** An account may be named by its external id. */
function withAccountId(given: unknown, accounts: ReadonlyMap<string, AccountRecord>): unknown {
  const account = accounts.get(accountNamed(given) ?? '');
  return account === undefined ? given : { ...Object(given), account: account.id };
}

function accountNamed(given: unknown): string | null {
  const named: unknown = Reflect.get(Object(given), 'account');
  return typeof named === 'string' ? named : null;
}

function requireChanged(keyId: string, outcome: KeyChangeOutcome): void {
  if (outcome.kind === 'unknown_key') throw unknownKey(keyId);
  if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
  if (outcome.kind === 'other_version') throw changedMeanwhile(`key ${keyId}`, outcome);
}

function unknownKey(keyId: string): AdminError {
  return new AdminError(
    'unknown_key',
    `key ${JSON.stringify(keyId)} does not exist: list the keys with "gateway keys list"`,
  );
}
