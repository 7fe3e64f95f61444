/** Alerts of one gateway: what is noticed here is stored once, and delivered by whichever gateway is first. */
import { randomUUID } from 'node:crypto';
import type { AlertPolicy } from '../core/alert-policy.ts';
import type { AlertType } from '../core/alert-types.ts';
import type { Log } from '../core/log.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import type { AuditReport } from '../ledger/port.ts';
import { unseal } from '../operators/secrets.ts';
import { type Alert, alertId } from './alert.ts';
import type { ChangeTrail } from './change-watch.ts';
import { Deliverer, type DelivererOptions, LEASE_MS } from './deliverer.ts';
import { MarginWatch, type Shortfall, shortfallAlerts } from './margin-watch.ts';
import { type OwnFiles, OwnFilesWatch } from './own-files-watch.ts';
import type { Delivery, DeliveryState, PageQuery, StoredAlert } from './port.ts';
import { ProviderWatch, type WatchedProvider } from './provider-watch.ts';
import { Receivers } from './receivers.ts';
import type { SqlAlertStore } from './sql-store.ts';
import { configuredTargets } from './targets.ts';
import { UsageWatch, type WatchedLedger } from './usage-watch.ts';

export interface AlertsOptions {
  readonly store: SqlAlertStore;
  readonly ledger: WatchedLedger;
  readonly trail: ChangeTrail;
  /** Null: alerts are switched off. */
  readonly policy: () => AlertPolicy | null;
  /** How this gateway sees its providers. */
  readonly providers: () => Promise<readonly WatchedProvider[]>;
  /** What charges of this gateway fell short of. */
  readonly shortfalls?: () => Promise<readonly Shortfall[]>;
  /** Absent where no gateway runs. */
  readonly ownFiles?: () => OwnFiles;
  readonly installationSecret: string;
  readonly log: Log;
  nowMs(): number;
  readonly resolve?: DelivererOptions['resolve'];
  readonly timeoutMs?: DelivererOptions['timeoutMs'];
}

export interface TestResult {
  readonly id: string;
  readonly deliveries: readonly Delivery[];
}

const LOOK_MS = 5_000;
/** A look that takes long is made more rarely: so many times its own length later, within bounds. */
const LOOK_PAUSES = 10;
const LOOK_MS_MAX = 30_000;
const WATCH_LEASE_MS = 30_000;
const KEEP_MS = 90 * DAY_MS;
const PRUNE_MS = HOUR_MS;
const RAISED_MAX = 100_000;
const ROOTS_MAX = 10_000;
const TEST_PAUSE_MS = 10_000;
const TESTED_MAX = 10_000;

export class Alerts {
  readonly receivers: Receivers;
  readonly #options: AlertsOptions;
  readonly #owner = randomUUID();
  readonly #usage: UsageWatch;
  readonly #margin: MarginWatch;
  readonly #providers = new ProviderWatch();
  readonly #ownFiles = new OwnFilesWatch();
  readonly #deliverer: Deliverer;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  /** By their ids: what this gateway alone has seen, and does not see again. It is kept until it is stored. */
  readonly #events = new Map<string, Alert>();
  /** Ids that are stored: who goes on spending would be told to the store again with every look. */
  readonly #raised = new Set<string>();
  /** Of accounts with a webhook; one that was moved counts for the root that it had. */
  readonly #roots = new Map<string, string>();
  readonly #testedAtMs = new Map<string, number>();
  #watching = false;
  #prunedAtMs = 0;
  #closed = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.receivers = new Receivers(options);
    this.#usage = new UsageWatch(options.ledger, options.store, options.trail, options.policy);
    this.#margin = new MarginWatch(options.ledger);
    this.#deliverer = new Deliverer({
      store: options.store,
      policy: options.policy,
      rootOf: (accountId) => this.#rootOf(accountId),
      unseal: (sealedFor, sealed) => unseal(options.installationSecret, sealedFor, sealed),
      nowMs: () => options.nowMs(),
      ...(options.resolve && { resolve: options.resolve }),
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    });
  }

  /** Null: alerts are switched off. */
  get policy(): AlertPolicy | null {
    return this.#options.policy();
  }

  get enabled(): boolean {
    return this.policy !== null;
  }

  /** As of the last look of the gateway that watches; null on the others. */
  get keysBelowCost(): number | null {
    return this.#margin.keysBelowCost;
  }

  /** Watches until it is closed. */
  start(): void {
    this.#lookIn(LOOK_MS);
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    await this.#deliverer.close();
  }

  #lookIn(ms: number): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      const startedAt = performance.now();
      // Neither waits for the other: what is noticed does not depend on how long receivers take.
      this.#deliver();
      this.#looking = this.watch()
        .catch((err: unknown) => this.#options.log.error({ err }, 'alerts could not be checked; this is tried again'))
        .finally(() => {
          this.#deliver();
          const pauseMs = (performance.now() - startedAt) * LOOK_PAUSES;
          this.#lookIn(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS, pauseMs)));
        });
    }, ms).unref();
  }

  #deliver(): void {
    void this.deliver().catch((err: unknown) => {
      this.#options.log.error({ err }, 'alerts could not be delivered; this is tried again');
    });
  }

  /** All that is due; resolves when it was tried. */
  async deliver(): Promise<void> {
    if (this.enabled) await this.#deliverer.deliverDue();
  }

  /** Notices what is to be noticed, once. */
  async watch(): Promise<void> {
    if (!this.enabled) return;
    const { store, nowMs, providers, shortfalls, ownFiles } = this.#options;
    await this.#tried(async () => this.#keep(this.#providers.look(await providers(), nowMs())));
    await this.#tried(async () => this.#keep(shortfallAlerts((await shortfalls?.()) ?? [], nowMs())));
    await this.#tried(async () => this.#keep(ownFiles ? this.#ownFiles.look(ownFiles(), nowMs()) : []));
    for (const event of this.#events.values()) await this.#tried(() => this.#raiseEvent(event));
    const shared = [this.#usage, this.#margin];
    const watching = await this.watches();
    if (watching !== this.#watching) for (const each of shared) each.forget();
    this.#watching = watching;
    for (const each of watching ? shared : []) {
      const raised = await this.#tried(async () => {
        for (const alert of await each.look(nowMs())) await this.#raise(alert);
      });
      // What it has seen counts for nothing until it is stored.
      if (!raised) each.forget();
    }
    if (nowMs() - this.#prunedAtMs < PRUNE_MS) return;
    this.#prunedAtMs = nowMs();
    await store.prune(nowMs() - KEEP_MS);
  }

  /** Whether it was done; what one of them cannot look at, or cannot store, keeps nobody from the others. */
  async #tried(look: () => Promise<void>): Promise<boolean> {
    try {
      await look();
      return true;
    } catch (err) {
      this.#options.log.error({ err }, 'alerts could not be checked; this is tried again');
      return false;
    }
  }

  #keep(events: readonly Alert[]): void {
    for (const event of events) this.#events.set(event.id, event);
  }

  /** Whether this gateway is the one of several that watches what all of them share. */
  watches(): Promise<boolean> {
    const { store, nowMs } = this.#options;
    return store.watchAs(this.#owner, nowMs(), nowMs() + WATCH_LEASE_MS);
  }

  async auditFailed({ findings }: AuditReport): Promise<void> {
    if (!this.enabled) return;
    const atMs = this.#options.nowMs();
    const id = alertId('audit.failed', ...findings);
    const data = { findings: findings.slice(0, 20), count: findings.length };
    const event = { id, type: 'audit.failed', atMs, accountIds: [], data } as const;
    this.#keep([event]);
    await this.#raiseEvent(event);
  }

  /** An alert that means nothing, to everybody that the configuration names; what became of each delivery at once. */
  async test(): Promise<TestResult> {
    const configured = this.#options.policy();
    return this.testTargets(configured === null ? [] : configuredTargets(configured, 'alert.test'));
  }

  /** The same to these alone, whichever types they get. */
  async testTargets(targets: readonly string[]): Promise<TestResult> {
    const { store, nowMs } = this.#options;
    const atMs = nowMs();
    const id = alertId('alert.test', atMs, randomUUID());
    const alert = { id, type: 'alert.test', atMs, accountIds: [], data: { message: 'This is a test.' } } as const;
    // Nobody else may take them: what became of each is told at once.
    await this.#store(alert, targets, atMs + LEASE_MS);
    await this.#deliverer.deliverAlert(id);
    return { id, deliveries: await store.deliveries({ limit: 1_000, before: null, state: null, alertId: id }) };
  }

  /** A test of an account's receiver, whose holder may ask for it: null where there was one a moment ago. */
  async testAccountTarget(target: string): Promise<TestResult | null> {
    const nowMs = this.#options.nowMs();
    if (nowMs < (this.#testedAtMs.get(target) ?? 0) + TEST_PAUSE_MS) return null;
    if (this.#testedAtMs.size >= TESTED_MAX) this.#testedAtMs.clear();
    this.#testedAtMs.set(target, nowMs);
    return this.testTargets([target]);
  }

  list(query: PageQuery & { readonly type: AlertType | null }): Promise<readonly StoredAlert[]> {
    return this.#options.store.alerts(query);
  }

  /** Of keys and accounts that were erased. */
  forgetNames(ids: ReadonlySet<string>): Promise<void> {
    return this.#options.store.forgetNames(ids);
  }

  deliveries(
    query: PageQuery & { readonly state: DeliveryState | null },
  ): Promise<readonly (Delivery & { readonly number: number })[]> {
    return this.#options.store.deliveries({ ...query, alertId: null });
  }

  async #rootOf(accountId: string): Promise<string> {
    const known = this.#roots.get(accountId);
    if (known !== undefined) return known;
    const found = await this.#options.ledger.getAccount(accountId);
    const parentId = found?.account.parentId ?? null;
    const root = parentId === null ? accountId : await this.#rootOf(parentId);
    if (this.#roots.size >= ROOTS_MAX) this.#roots.clear();
    this.#roots.set(accountId, root);
    return root;
  }

  async #raiseEvent(event: Alert): Promise<void> {
    await this.#raise(event);
    this.#events.delete(event.id);
  }

  async #raise(alert: Alert): Promise<void> {
    const configured = this.#options.policy();
    if (configured === null || this.#raised.has(alert.id)) return;
    const ofAccounts = await this.receivers.targetsOf(alert.accountIds);
    await this.#store(alert, [...configuredTargets(configured, alert.type), ...ofAccounts]);
    if (this.#raised.size >= RAISED_MAX) this.#raised.clear();
    this.#raised.add(alert.id);
  }

  async #store(alert: Alert, targets: readonly string[], leasedUntilMs = 0): Promise<void> {
    const { store, log, nowMs } = this.#options;
    const isNew = await store.raise(alert, targets, nowMs(), leasedUntilMs);
    if (isNew) log.warn({ alert: alert.id, type: alert.type }, 'an alert was raised');
  }
}
