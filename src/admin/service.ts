/** What an operator can do, on an opened store. Inputs have been validated by the schemas of their routes. */
import type { Alerts } from '../alerts/alerts.ts';
import type { StatementPolicy } from '../core/policy.ts';
import { builtInOwner, type Operators } from '../operators/operators.ts';
import type { AuditRecord, Caller } from '../operators/port.ts';
import { OperatorSettings } from './accounts/operator-settings.ts';
import { AccountService } from './accounts/service.ts';
import { Subtree } from './accounts/subtree.ts';
import { AlertService } from './alerts/service.ts';
import type { ConsoleAddress } from './console-address.ts';
import { DefinitionService, type DefinitionsOptions } from './definitions/service.ts';
import { AdminError } from './error.ts';
import { AuditTrail } from './http/audit-trail.ts';
import type { Reach } from './http/reach.ts';
import type { View } from './http/view.ts';
import { KeyService, type KeyServiceOptions } from './keys/service.ts';
import { MoneyService } from './money/service.ts';
import { HistoryService, historyLines } from './operators/history.ts';
import type { OidcSignIn } from './operators/oidc.ts';
import { OperatorService } from './operators/service.ts';
import { Requests } from './requests/requests.ts';
import type { RequestExplanation } from './requests/schema.ts';
import { type StateOptions, StateService } from './state/service.ts';
import { UsageService } from './usage/service.ts';

export interface AdminServiceOptions extends Omit<KeyServiceOptions, 'settings'>, StateOptions {
  readonly operators: Operators;
  console(): ConsoleAddress;
  /** The audit trail could not be written; what was done is done. */
  onTrailFailure?(error: unknown, record: Omit<AuditRecord, 'atMs'>): void;
  /** Absent where nobody signs in through OpenID Connect. */
  readonly oidc?: OidcSignIn | null;
  /** What stands on statements beside the figures; nothing without it. */
  statements?(): Promise<StatementPolicy>;
  /** Absent where no gateway is running. */
  readonly definitions?: DefinitionsOptions;
  /** Without it there are none. */
  readonly alerts?: Alerts;
  /** Without it there are none. */
  readonly requests?: Requests;
}

const NO_REQUESTS = new Requests(null, async () => []);
const NOWHERE = { address: null, userAgent: null, requestId: null };

/** The gateway itself, at its start. */
export const PROCESS: Caller = { actor: builtInOwner('process'), from: NOWHERE };
/** A command on the machine of the store, where no gateway runs. */
export const COMMAND: Caller = { actor: builtInOwner('command'), from: NOWHERE };

/** Acts for one caller. What it changes goes into the audit trail where it is called by its row (http/route.ts). */
export class AdminService {
  readonly keys: KeyService;
  readonly accounts: AccountService;
  readonly money: MoneyService;
  readonly requests: Requests;
  readonly usage: UsageService;
  readonly alerts: AlertService;
  readonly operators: OperatorService;
  readonly history: HistoryService;
  readonly state: StateService;
  readonly definitions: DefinitionService;
  readonly trail: AuditTrail;
  readonly #options: AdminServiceOptions;

  constructor(options: AdminServiceOptions, caller: Caller = PROCESS, onRecorded: () => void = () => {}) {
    this.#options = options;
    const { operators, clock, onTrailFailure = () => {} } = options;
    const { actor } = caller;
    const actorId = actor?.id ?? null;
    const top = actor?.role === 'account-admin' ? actor.accountId : null;
    const settings = new OperatorSettings(operators);
    const subtree = actor?.role === 'account-admin' ? new Subtree(options.ledger, top, settings) : null;
    const ledger = subtree?.ledger ?? options.ledger;
    const noted = subtree === null ? settings : null;
    // The names of models and providers that a refusal would list are not for everybody.
    const known = subtree === null ? options.known : null;
    this.trail = new AuditTrail({ sink: operators, caller, onFailure: onTrailFailure, onRecorded });
    this.accounts = new AccountService({
      ...{ ledger, actorId, top, known, settings: noted },
      keyMoved: (keyId, accountId) => this.requests.moved(keyId, accountId),
    });
    const keys = new KeyService({ ...options, ledger, known, settings: noted }, this.accounts, actorId);
    this.keys = keys;
    this.money = new MoneyService({ ledger, clock, actorId, statements: () => options.statements?.() ?? null });
    this.alerts = new AlertService({ alerts: options.alerts, accounts: this.accounts, isOperator: subtree === null });
    this.operators = new OperatorService({
      operators,
      clock,
      console: () => options.console(),
      accountExists: async (id) => (await options.ledger.getAccount(id)) !== null,
    });
    this.history = new HistoryService({ trail: operators, seesActors: subtree === null });
    this.state = new StateService(options, ledger);
    this.definitions = new DefinitionService({
      definitions: options.definitions,
      trail: operators,
      installationSecret: options.installationSecret,
      clock,
      actor: actor?.name ?? 'nobody',
    });
    const { requests = NO_REQUESTS } = options;
    this.requests = requests.within(subtree, (accountId, below) => keys.idsOf(accountId, below));
    this.usage = new UsageService({ ledger, clock, keys, requests: this.requests, seesProviders: subtree === null });
  }

  /** The same operations for another caller. `onRecorded` is called when something went into the audit trail. */
  as(caller: Caller, onRecorded?: () => void): AdminService {
    return new AdminService(this.#options, caller, onRecorded);
  }

  /** For an account-admin: throws where what the path names is not in its subtree, as if it did not exist. */
  async requireReach(reach: Reach, { id = '' }: { readonly id?: string }): Promise<void> {
    if (!this.requests.isLimited) return;
    if (reach === 'key') await this.keys.summary(id);
    if (reach === 'account') await this.accounts.summary(id);
    if (reach === 'payer') await this.money.requirePayer(id);
  }

  /** For what proves who a caller is. */
  get access(): Operators {
    return this.#options.operators;
  }

  get oidc(): OidcSignIn | null {
    return this.#options.oidc ?? null;
  }

  /** With what was done about it since. */
  async showRequest(requestId: string): Promise<View<typeof RequestExplanation>> {
    const { request, explanation } = await this.requests
      .show(requestId)
      .catch((error) => this.#notLogged(requestId, error));
    const history = await this.history.ofRequest(request);
    return { request, explanation: [...explanation, ...historyLines(history)], history };
  }

  /** A gateway that was killed has left no record of what ran in it. */
  async #notLogged(requestId: string, error: unknown): Promise<never> {
    const isMissing = error instanceof AdminError && error.code === 'not_found';
    // The ledger looks through all keys, which is for operators alone.
    const charge = isMissing && !this.requests.isLimited ? await this.money.chargeWithoutRecord(requestId) : null;
    throw charge === null ? error : new AdminError('not_found', charge);
  }

  async stopRequest(requestId: string): Promise<{ readonly id: string; readonly stopped: true }> {
    const { requests, state } = this;
    const inReach = !requests.isLimited || (await requests.running()).some(({ id }) => id === requestId);
    if (inReach && (await state.gateway.stopRequest(requestId))) return { id: requestId, stopped: true };
    throw new AdminError(
      'not_found',
      `no request ${JSON.stringify(requestId.slice(0, 80))} is running: list those that are with "gateway top" or GET /admin/v1/requests/running`,
    );
  }

  /** Those that run now. A key that is not suspended first may begin others meanwhile. */
  async stopKey(keyId: string): Promise<{ readonly id: string; readonly stopped: number }> {
    const { gateway } = this.state;
    await this.keys.summary(keyId);
    const running = (await this.requests.running()).filter(({ key_id }) => key_id === keyId);
    const stopped = await Promise.all(running.map(({ id }) => gateway.stopRequest(id)));
    return { id: keyId, stopped: stopped.filter((did) => did).length };
  }
}
