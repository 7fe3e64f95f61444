/** The admin API on an opened store. The HTTP listeners and the command line both use it. */
import type { Alerts } from '../alerts/alerts.ts';
import { MODEL_LISTS_DOCUMENT } from '../config/model-lists.ts';
import type { Audits } from '../ledger/audits.ts';
import type { LedgerAdmin } from '../ledger/port.ts';
import { builtInOwner, type Operators } from '../operators/operators.ts';
import type { AuditRecord, Caller } from '../operators/port.ts';
import { AccountService } from './account-service.ts';
import { AlertsAdmin } from './alerts.ts';
import {
  type AdminApi,
  AdminError,
  type AuditTrailPageView,
  type AuditView,
  type CreatedKey,
  type DoctorReportView,
  type ImportedKeysView,
  type KeyPageView,
  type KeyView,
  type LastAuditView,
  type ModelListsRefreshView,
  type ModelListsView,
  type ModelStateView,
  type ProviderStateView,
  type RequestContentView,
  type TargetTestView,
  type UsageView,
} from './api.ts';
import { AuditTrail, auditTrailEntryView } from './audit-trail.ts';
import { readAuditTrailQuery } from './input.ts';
import { type KeyFilters, KeyService, type KeyServiceOptions } from './key-service.ts';
import { MoneyService } from './money-service.ts';
import type { OidcSignIn } from './oidc.ts';
import { OperatorSettings } from './operator-settings.ts';
import { OperatorsAdmin } from './operators.ts';
import type { Playground, PlaygroundAnswer } from './playground.ts';
import { Requests } from './requests.ts';
import { DoctorBody, TargetTestBody } from './schema/state.ts';
import type { View } from './schema/view.ts';
import { SubtreeLedger } from './subtree.ts';
import { readUsageQuery } from './usage-query.ts';
import { type AccountNames, accountsIn, usageView } from './usage-view.ts';
import { validBody } from './validate.ts';
import { auditView, lastAuditView } from './view.ts';

export interface AdminServiceOptions extends Omit<KeyServiceOptions, 'settings'> {
  readonly operators: Operators;
  /** Where the console is reached, e.g. `http://127.0.0.1:8081`. */
  consoleOrigin(): string;
  /** Absent where no gateway is running. */
  readonly gateway?: RunningGatewayState;
  /** The audit trail could not be written; what was done is done. */
  onTrailFailure?(error: unknown, record: Omit<AuditRecord, 'atMs'>): void;
  /** Absent where no gateway is running. */
  readonly playground?: Playground;
  /** Absent where nobody signs in through OpenID Connect. */
  readonly oidc?: OidcSignIn | null;
  /** Without it there are none. */
  readonly alerts?: Alerts;
  /** Without it what came of an audit is not kept. */
  readonly audits?: Audits;
  /** Without it there are none. */
  readonly requests?: Requests;
  /** Whether the running gateway takes requests; absent where none runs. */
  ready?(): Promise<boolean>;
  /** The metrics of the running gateway, as Prometheus reads them; absent where none runs. */
  metrics?(): Promise<string>;
  /** Asks the providers for their model lists and stores them. */
  refreshModelLists?(): Promise<ModelListsRefreshView>;
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
  testTarget(target: View<typeof TargetTestBody>): Promise<TargetTestView>;
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
  readonly money: MoneyService;
  readonly operators: OperatorsAdmin;
  readonly alerts: AlertsAdmin;
  readonly #options: AdminServiceOptions;
  readonly #keys: KeyService;
  readonly #trail: AuditTrail;
  /** What an `account-admin` reaches; null for every other caller. */
  readonly #subtree: SubtreeLedger | null;

  constructor(options: AdminServiceOptions, caller: Caller = PROCESS, onRecorded: () => void = () => {}) {
    this.#options = options;
    const { operators, clock, onTrailFailure = () => {} } = options;
    this.#trail = new AuditTrail({ sink: operators, caller, onFailure: onTrailFailure, onRecorded });
    this.operators = new OperatorsAdmin({
      operators,
      clock,
      consoleOrigin: () => options.consoleOrigin(),
      accountExists: async (id) => (await options.ledger.getAccount(id)) !== null,
      trail: this.#trail,
    });
    const { actor } = caller;
    const top = actor?.role === 'account-admin' ? actor.accountId : null;
    const settings = new OperatorSettings(operators);
    this.#subtree = actor?.role === 'account-admin' ? new SubtreeLedger(options.ledger, top, settings) : null;
    const noted = this.#subtree === null ? settings : null;
    const ledger = this.#subtree ?? options.ledger;
    // The names of models and providers that a refusal would list are not for everybody.
    const known = this.#subtree === null ? options.known : null;
    this.accounts = new AccountService({ ledger, trail: this.#trail, top, known, settings: noted });
    this.alerts = new AlertsAdmin({ alerts: options.alerts, accounts: this.accounts, trail: this.#trail });
    this.money = new MoneyService(ledger, clock, this.#trail);
    this.#keys = new KeyService({ ...options, ledger, known, settings: noted }, this.accounts, this.#trail);
  }

  get #ledger(): LedgerAdmin {
    return this.#subtree ?? this.#options.ledger;
  }

  /** The same operations for another caller. `onRecorded` is called when something went into the audit trail. */
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
    const { requests = NO_REQUESTS } = this.#options;
    const subtree = this.#subtree;
    const reach = subtree === null ? null : async () => new Set(await subtree.ownKeyIds());
    return requests.within(reach, (accountId, below) => this.#keysOf(accountId, below));
  }

  get gateway(): RunningGatewayState {
    const { gateway } = this.#options;
    if (gateway === undefined) throw new AdminError('unavailable', 'no gateway is running here');
    return gateway;
  }

  /** Who read what somebody asked and was answered is kept, as who turned its capture on. */
  requestContent(requestId: string): Promise<RequestContentView> {
    const change = { action: 'request.content', target: requestId };
    return this.#trail.change(change, () => this.requests.content(requestId));
  }

  stopRequest(requestId: string): Promise<{ readonly id: string; readonly stopped: true }> {
    return this.#trail.change({ action: 'request.stop', target: requestId }, async () => {
      const inReach = this.#subtree === null || (await this.requests.running()).some(({ id }) => id === requestId);
      if (inReach && (await this.gateway.stopRequest(requestId))) return { id: requestId, stopped: true };
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

  testTarget(input: unknown): Promise<TargetTestView> {
    const target = validBody(TargetTestBody, input);
    const change = {
      action: 'target.test',
      target: target.model,
      after: (result: TargetTestView) => ({ ...target, ...result }),
    };
    return this.#trail.change<TargetTestView>(change, () => this.gateway.testTarget(target));
  }

  get oidc(): OidcSignIn | null {
    return this.#options.oidc ?? null;
  }

  get playground(): Playground {
    const { playground } = this.#options;
    if (playground === undefined) throw new AdminError('unavailable', 'no gateway is running here');
    return playground;
  }

  sendPlayground(input: unknown, signal: AbortSignal): Promise<PlaygroundAnswer> {
    return this.playground.send(input, this.#trail, signal);
  }

  createKey(input: unknown): Promise<CreatedKey> {
    return this.#keys.create(input);
  }

  importKeys(input: unknown): Promise<ImportedKeysView> {
    return this.#keys.import(input);
  }

  listKeys(filters: object = {}): Promise<readonly KeyView[]> {
    return this.#keys.list(filters);
  }

  findKeys(query: KeyFilters): Promise<KeyPageView> {
    return this.#keys.find(query);
  }

  showKey(keyId: string): Promise<KeyView> {
    return this.#keys.show(keyId);
  }

  changeKey(keyId: string, input: unknown, version?: number): Promise<KeyView> {
    return this.#keys.change(keyId, input, version);
  }

  revokeKey(keyId: string, version?: number): Promise<KeyView> {
    return this.#keys.revoke(keyId, version);
  }

  addSecret(keyId: string): Promise<CreatedKey> {
    return this.#keys.addSecret(keyId);
  }

  revokeSecret(keyId: string, prefix: string): Promise<KeyView> {
    return this.#keys.revokeSecret(keyId, prefix);
  }

  addCredit(keyId: string, input: unknown): Promise<KeyView> {
    return this.#keys.addCredit(keyId, input);
  }

  /** Whether requests should be sent to this gateway. */
  async ready(): Promise<boolean> {
    return (await this.#options.ready?.()) ?? false;
  }

  async metrics(): Promise<string> {
    const { metrics } = this.#options;
    if (metrics === undefined) throw new AdminError('unavailable', 'there are no metrics without a running gateway');
    return metrics();
  }

  async modelLists(): Promise<ModelListsView> {
    const document = await this.#ledger.getDocument(MODEL_LISTS_DOCUMENT);
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
    const { audits } = this.#options;
    return auditView(await (audits === undefined ? this.#ledger.audit() : audits.run()));
  }

  async lastAudit(): Promise<LastAuditView> {
    const { audits } = this.#options;
    return lastAuditView((await audits?.read()) ?? null, audits?.everyMs ?? null);
  }

  async usage(input: object): Promise<UsageView> {
    const { accountId, ...asked } = readUsageQuery(input, this.#options.clock.nowMs());
    if (asked.filter.key !== undefined) await this.showKey(asked.filter.key);
    if (this.#subtree !== null && (asked.by.includes('provider') || asked.filter.provider !== undefined)) {
      throw new AdminError('forbidden', 'only an operator may see which provider served a request');
    }
    const keys = accountId === null ? null : await this.#keysOf(accountId, true);
    const query = keys === null ? asked : { ...asked, keys };
    const report = await this.#ledger.usageReport(query);
    if (report.kind === 'usage') {
      const names = await this.#accountNames(accountsIn(query.by, report.rows));
      return usageView(query, report, names, this.#subtree === null);
    }
    throw new AdminError(
      'invalid_input',
      `by gives more than ${query.rowsMax} rows: ask for fewer dimensions, a shorter time, or one key, label or model`,
      { field: 'by' },
    );
  }

  async #accountNames(ids: readonly string[]): Promise<AccountNames> {
    const found = ids.length === 0 ? [] : await this.#ledger.listAccounts({ ids });
    return new Map(found.map(({ account }) => [account.id, account.name]));
  }

  async #keysOf(accountId: string | null, below: boolean): Promise<ReadonlySet<string>> {
    if (accountId !== null) await this.accounts.show(accountId);
    return new Set(await this.#ledger.keyIds(accountId, below));
  }
}
