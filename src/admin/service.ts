/** The admin API on an opened store. The HTTP listeners and the command line both use it. */
import { MODEL_LISTS_DOCUMENT } from '../config/model-lists.ts';
import type { Clock } from '../core/clock.ts';
import { KEY_PREFIX_LENGTH, keyDigest, keyStatus, type Mode, newKeyText } from '../core/key.ts';
import { periodEndMs } from '../core/period.ts';
import type { KeyChangeOutcome, KeySummary, LedgerAdmin } from '../ledger/port.ts';
import { builtInOwner, type Operators } from '../operators/operators.ts';
import type { AuditRecord, Caller } from '../operators/port.ts';
import { AccountService } from './account-service.ts';
import {
  type AdminApi,
  AdminError,
  type AuditTrailPageView,
  type AuditView,
  type CreatedKey,
  type DoctorReportView,
  type KeyView,
  type ModelListsRefreshView,
  type ModelListsView,
  type ModelStateView,
  type ProviderStateView,
  type UsageView,
} from './api.ts';
import { AuditTrail, auditTrailEntryView } from './audit-trail.ts';
import { newId } from './ids.ts';
import { type NewKeyPlan, readAuditTrailQuery, readCredit, readKeyChange, readNewKey } from './input.ts';
import { OperatorsAdmin } from './operators.ts';
import { Requests } from './requests.ts';
import { DoctorBody } from './schema/state.ts';
import { readUsageQuery } from './usage-query.ts';
import { usageView } from './usage-view.ts';
import { validBody } from './validate.ts';
import { auditView, keyView } from './view.ts';

export interface AdminServiceOptions {
  readonly ledger: LedgerAdmin;
  /** Keys the digests under which secrets are stored. */
  readonly installationSecret: string;
  readonly clock: Clock;
  readonly operators: Operators;
  /** Where the console is reached, e.g. `http://127.0.0.1:8081`. */
  consoleOrigin(): string;
  /** Absent where no gateway is running. */
  readonly gateway?: RunningGatewayState;
  /** The audit trail could not be written; what was done is done. */
  onTrailFailure?(error: unknown, record: Omit<AuditRecord, 'atMs'>): void;
  /** Where callers reach the gateway, e.g. `http://127.0.0.1:8080`. */
  readonly gatewayOrigin: string;
  /**
   * What the running gateway's catalog knows now. A scope or entitlement outside of it is refused. Null where no
   * gateway is running: the catalog may differ by the time the key is used, so every name is accepted.
   */
  readonly known: (() => KnownNames) | null;
  /** Without it there are none. */
  readonly requests?: Requests;
  /** Whether the running gateway takes requests; absent where none runs. */
  ready?(): Promise<boolean>;
  /** The metrics of the running gateway, as Prometheus reads them; absent where none runs. */
  metrics?(audit: LastAudit | null): Promise<string>;
  /** Asks the providers for their model lists and stores them. */
  refreshModelLists?(): Promise<ModelListsRefreshView>;
}

/** The last audit of a running gateway. */
export interface LastAudit {
  readonly ok: boolean;
  readonly atMs: number;
}

/** What only a running gateway can say of itself, or do. */
export interface RunningGatewayState {
  settings(): Readonly<Record<string, unknown>>;
  inspect(): Promise<{
    readonly models: readonly ModelStateView[];
    readonly providers: readonly ProviderStateView[];
    readonly policy: Readonly<Record<string, unknown>>;
  }>;
  /** False where no request with this id is running. */
  stopRequest(requestId: string): Promise<boolean>;
  doctor(probes: boolean): Promise<DoctorReportView>;
}

export interface KnownNames {
  readonly providers: readonly string[];
  readonly models: readonly string[];
}

const NO_REQUESTS = new Requests(null, async () => []);
const NOWHERE = { address: null, userAgent: null, requestId: null };

/** The gateway itself, at its start. */
const PROCESS: Caller = { actor: builtInOwner('process'), from: NOWHERE };
/** A command on the machine of the store, where no gateway runs. */
export const COMMAND: Caller = { actor: builtInOwner('command'), from: NOWHERE };

/**
 * Acts for one caller, and writes into the audit trail what it changes. Inputs are `unknown` here because this is where they
 * are validated.
 */
export class AdminService implements AdminApi {
  readonly accounts: AccountService;
  readonly operators: OperatorsAdmin;
  readonly #options: AdminServiceOptions;
  readonly #trail: AuditTrail;
  #lastAudit: LastAudit | null = null;

  constructor(options: AdminServiceOptions, caller: Caller = PROCESS, onRecorded: () => void = () => {}) {
    this.#options = options;
    const { operators, clock, onTrailFailure = () => {} } = options;
    this.#trail = new AuditTrail({ sink: operators, caller, onFailure: onTrailFailure, onRecorded });
    this.operators = new OperatorsAdmin({
      operators,
      clock,
      consoleOrigin: () => options.consoleOrigin(),
      trail: this.#trail,
    });
    this.accounts = new AccountService(options.ledger, this.#trail);
  }

  /** The same operations for another caller. `onRecorded` is told when something went into the audit trail. */
  as(caller: Caller, onRecorded?: () => void): AdminService {
    return new AdminService(this.#options, caller, onRecorded);
  }

  /** For what proves who a caller is. */
  get access(): Operators {
    return this.#options.operators;
  }

  get trail(): AuditTrail {
    return this.#trail;
  }

  get requests(): Requests {
    return this.#options.requests ?? NO_REQUESTS;
  }

  get gateway(): RunningGatewayState {
    const { gateway } = this.#options;
    if (gateway === undefined) throw new AdminError('unavailable', 'no gateway is running here');
    return gateway;
  }

  stopRequest(requestId: string): Promise<{ readonly id: string; readonly stopped: true }> {
    return this.#trail.change({ action: 'request.stop', target: requestId }, async () => {
      if (await this.gateway.stopRequest(requestId)) return { id: requestId, stopped: true };
      throw new AdminError(
        'not_found',
        `no request ${JSON.stringify(requestId.slice(0, 80))} is running: list those that are with GET /admin/v1/requests/running`,
      );
    });
  }

  doctor(input: unknown): Promise<DoctorReportView> {
    const { probes = false } = validBody(DoctorBody, input);
    const after = ({ ok }: DoctorReportView) => ({ ok, probes });
    return this.#trail.change({ action: 'doctor.run', target: null, after }, () => this.gateway.doctor(probes));
  }

  createKey(input: unknown): Promise<CreatedKey> {
    const change = { action: 'key.create', target: null, after: withoutText, made: ({ id }: CreatedKey) => id };
    return this.#trail.change<CreatedKey>(change, () => this.#createKey(input));
  }

  async #createKey(input: unknown): Promise<CreatedKey> {
    const plan = readNewKey(input);
    this.#requireKnown(plan.providerScope, plan.models);
    // The ledger's own refusal would be a failure of the operation.
    if (plan.accountId !== null) await this.#requireOpenAccount(plan.accountId);
    const secret = this.#newSecret(plan.mode);
    const id = newId('key');
    const key = await this.#options.ledger.createKey({
      ...plan,
      id,
      secret: { digest: secret.digest, prefix: secret.prefix },
    });
    // The text exists only here: a second read of the store could fail and lose it.
    const summary = this.#freshSummary(plan, key);
    return { ...keyView(summary, this.#options.gatewayOrigin), key: secret.text };
  }

  async listKeys(): Promise<readonly KeyView[]> {
    const summaries = await this.#options.ledger.listKeys();
    return summaries.map((summary) => keyView(summary, this.#options.gatewayOrigin));
  }

  async showKey(keyId: string): Promise<KeyView> {
    return keyView(await this.#summary(keyId), this.#options.gatewayOrigin);
  }

  changeKey(keyId: string, input: unknown, version?: number): Promise<KeyView> {
    return this.#keyChange('key.change', keyId, () => this.#changeKey(keyId, input, version));
  }

  revokeKey(keyId: string, version?: number): Promise<KeyView> {
    return this.#keyChange('key.revoke', keyId, () => this.#changeKey(keyId, { status: 'revoked' }, version));
  }

  async #changeKey(keyId: string, input: unknown, version: number | undefined): Promise<KeyView> {
    const change = { ...readKeyChange(input), ...(version !== undefined && { ifVersion: version }) };
    this.#requireKnown(change.providerScope ?? 'all', change.models ?? null);
    if (change.budget !== undefined || change.period !== undefined) {
      const { key } = await this.#summary(keyId);
      if (key.mode === 'credit' && (key.accountId === null || change.budget !== undefined))
        throw new AdminError('refused', `${keyId} is a credit key: it has no budget and no period`);
    }
    requireChanged(keyId, await this.#options.ledger.changeKey(keyId, change));
    return this.showKey(keyId);
  }

  addSecret(keyId: string): Promise<CreatedKey> {
    return this.#keyChange('key.secret.add', keyId, () => this.#addSecret(keyId));
  }

  async #addSecret(keyId: string): Promise<CreatedKey> {
    const { key } = await this.#summary(keyId);
    const secret = this.#newSecret(key.mode);
    requireChanged(keyId, await this.#options.ledger.addSecret(keyId, secret.digest, secret.prefix));
    return { ...(await this.showKey(keyId)), key: secret.text };
  }

  revokeSecret(keyId: string, prefix: string): Promise<KeyView> {
    return this.#keyChange('key.secret.revoke', keyId, () => this.#revokeSecret(keyId, prefix));
  }

  async #revokeSecret(keyId: string, prefix: string): Promise<KeyView> {
    const { secretPrefixes } = await this.#summary(keyId);
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
    return this.showKey(keyId);
  }

  addCredit(keyId: string, input: unknown): Promise<KeyView> {
    return this.#keyChange('key.credit', keyId, () => this.#addCredit(keyId, input));
  }

  async #addCredit(keyId: string, input: unknown): Promise<KeyView> {
    const plan = readCredit(input);
    const entryId = plan.entryId ?? newId('credit');
    const outcome = await this.#options.ledger.addCredit(keyId, entryId, plan.amountNanos, plan.note);
    if (outcome.kind === 'unknown_key') throw unknownKey(keyId);
    if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
    return this.showKey(keyId);
  }

  /** Whether requests should be sent to this gateway. */
  async ready(): Promise<boolean> {
    return (await this.#options.ready?.()) ?? false;
  }

  async metrics(): Promise<string> {
    const { metrics } = this.#options;
    if (metrics === undefined) throw new AdminError('unavailable', 'there are no metrics without a running gateway');
    return metrics(this.#lastAudit);
  }

  async modelLists(): Promise<ModelListsView> {
    const document = await this.#options.ledger.getDocument(MODEL_LISTS_DOCUMENT);
    return { object: 'model_lists', document: document?.value ?? null };
  }

  async refreshModelLists(): Promise<ModelListsRefreshView> {
    const { refreshModelLists } = this.#options;
    if (refreshModelLists === undefined) throw new AdminError('unavailable', 'providers cannot be asked from here');
    return this.#trail.change({ action: 'model_lists.refresh', target: null }, () => refreshModelLists());
  }

  async auditTrail(query: unknown): Promise<AuditTrailPageView> {
    const wanted = readAuditTrailQuery(query);
    // One more than asked for, to know whether there is a next page.
    const found = await this.access.auditTrail({ ...wanted, limit: wanted.limit + 1 });
    const page = found.slice(0, wanted.limit);
    const next = found.length > page.length ? (page.at(-1)?.number ?? null) : null;
    return {
      object: 'list',
      data: page.map(auditTrailEntryView),
      next_cursor: next === null ? null : String(next),
    };
  }

  async audit(): Promise<AuditView> {
    const report = await this.#options.ledger.audit();
    this.#lastAudit = { ok: report.ok, atMs: this.#options.clock.nowMs() };
    return auditView(report);
  }

  async usage(input: object): Promise<UsageView> {
    const query = readUsageQuery(input, this.#options.clock.nowMs());
    if (query.filter.key !== undefined) await this.#summary(query.filter.key);
    const report = await this.#options.ledger.usageReport(query);
    if (report.kind === 'usage') return usageView(query, report);
    throw new AdminError(
      'invalid_input',
      `by gives more than ${query.rowsMax} rows: ask for fewer dimensions, a shorter time, or one key, label or model`,
      { field: 'by' },
    );
  }

  #keyChange<View extends KeyView>(action: string, keyId: string, work: () => Promise<View>): Promise<View> {
    const change = { action, target: keyId, before: () => this.showKey(keyId), after: withoutText };
    return this.#trail.change<View>(change, work);
  }

  async #requireOpenAccount(accountId: string): Promise<void> {
    const { status } = await this.accounts.show(accountId);
    if (status === 'closed') throw new AdminError('refused', `account ${accountId} is closed`, { field: 'account' });
  }

  async #summary(keyId: string): Promise<KeySummary> {
    const summary = await this.#options.ledger.getKey(keyId);
    if (summary === null) throw unknownKey(keyId);
    return summary;
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
      prefix: text.slice(0, KEY_PREFIX_LENGTH),
    };
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
    const unknown = models?.find((id) => !known.models.includes(id));
    if (unknown !== undefined) {
      throw new AdminError(
        'invalid_input',
        `models has ${JSON.stringify(unknown)}, which is not a model of this gateway: expected one of ${known.models.join(', ')}`,
        { field: 'models' },
      );
    }
  }
}

function requireChanged(keyId: string, outcome: KeyChangeOutcome): void {
  if (outcome.kind === 'unknown_key') throw unknownKey(keyId);
  if (outcome.kind === 'refused') throw new AdminError('refused', outcome.reason);
  if (outcome.kind === 'other_version') {
    throw new AdminError(
      'precondition_failed',
      `key ${keyId} has been changed meanwhile: it is at version ${outcome.version}; read it again`,
    );
  }
}

/** The text of a key is never stored. */
function withoutText(view: KeyView | CreatedKey): object {
  const { key: _text, ...rest } = { key: null, ...view };
  return rest;
}

function unknownKey(keyId: string): AdminError {
  return new AdminError(
    'unknown_key',
    `key ${JSON.stringify(keyId)} does not exist: list the keys with "gateway keys list"`,
  );
}
