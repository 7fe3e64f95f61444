/** What the ledger's tests share: a clock that stands still, and requests with sensible contents. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../src/core/clock.ts';
import type { OperationRunner } from '../../src/ledger/group-commit/group-commit.ts';
import { createLedgerOn, type LeaseOptions, type OwnedLedger } from '../../src/ledger/ledger.ts';
import type {
  AdmitOutcome,
  AdmitRequest,
  NewAccount,
  NewKey,
  SettleRequest,
  UsageRecord,
} from '../../src/ledger/port.ts';

export class ManualClock implements Clock {
  readonly steady: Clock = { nowMs: () => this.#nowMs - this.#jumpedMs };
  #nowMs: number;
  #jumpedMs = 0;

  constructor(startsAt = '2026-03-10T12:00:00Z') {
    this.#nowMs = Date.parse(startsAt);
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  /** As after a suspended machine: the date is a later one, and no time has passed. */
  jump(ms: number): void {
    this.#nowMs += ms;
    this.#jumpedMs += ms;
  }

  set(at: string): void {
    this.#nowMs = Date.parse(at);
  }
}

/** Fresh books of one backend. */
export interface OpenedLedger {
  /** A connection of its own, as another process would have it. */
  connect(): Promise<OperationRunner>;
  close(): Promise<void>;
}

export type OpenBooks = (clock: Clock) => Promise<OpenedLedger>;

/** A ledger on fresh books, closed at the end of the test. */
export class Bench {
  readonly clock: ManualClock;
  readonly ledger: OwnedLedger;
  readonly #books: OpenedLedger;
  readonly #ledgers: OwnedLedger[] = [];
  readonly #connections: OperationRunner[] = [];

  private constructor(clock: ManualClock, books: OpenedLedger, ledger: OwnedLedger) {
    this.clock = clock;
    this.#books = books;
    this.ledger = ledger;
    this.#ledgers.push(ledger);
  }

  static async open(open: OpenBooks, startsAt?: string): Promise<Bench> {
    const clock = new ManualClock(startsAt);
    const books = await open(clock);
    return new Bench(clock, books, createLedgerOn(await books.connect()));
  }

  /** Another process on the same books; `around` may change what becomes of its operations. */
  async another(
    options: LeaseOptions = {},
    around: (operations: OperationRunner) => OperationRunner = (operations) => operations,
  ): Promise<OwnedLedger> {
    const ledger = createLedgerOn(around(await this.#books.connect()), options);
    this.#ledgers.push(ledger);
    return ledger;
  }

  /** A connection of another process, for operations as they arrive; closed with the rest. */
  async connect(): Promise<OperationRunner> {
    const operations = await this.#books.connect();
    this.#connections.push(operations);
    return operations;
  }

  async creditKey(credit: bigint, change: Partial<NewKey> = {}): Promise<string> {
    const key = await this.ledger.createKey(newKey({ credit, ...change }));
    return key.id;
  }

  async budgetKey(budget: bigint | null, change: Partial<NewKey> = {}): Promise<string> {
    const key = await this.ledger.createKey(newKey({ mode: 'token_budget', budget, ...change }));
    return key.id;
  }

  /** Admits and says under which hold. */
  async admit(keyId: string, amount: bigint, change: Partial<AdmitRequest> = {}): Promise<[string, AdmitOutcome]> {
    const holdId = randomUUID();
    return [holdId, await this.ledger.admit(admitRequest(keyId, holdId, amount, change))];
  }

  /** Admits what must be admitted. */
  async hold(keyId: string, amount: bigint, change: Partial<AdmitRequest> = {}): Promise<string> {
    const [holdId, outcome] = await this.admit(keyId, amount, change);
    assert.equal(outcome.kind, 'admitted');
    return holdId;
  }

  /** Admits and settles. */
  async spend(keyId: string, amount: bigint, change: Partial<SettleRequest> = {}): Promise<void> {
    const holdId = await this.hold(keyId, amount);
    const outcome = await this.ledger.settle(settleRequest(keyId, holdId, amount, change));
    assert.equal(outcome.kind, 'settled');
  }

  async summary(keyId: string) {
    const summary = await this.ledger.summary(keyId);
    assert.ok(summary);
    return summary;
  }

  /** After everything that a test did, the books must add up. */
  async close(): Promise<void> {
    const report = await this.ledger.audit();
    assert.deepEqual(report.findings, []);
    for (const opened of [...this.#ledgers, ...this.#connections]) await opened.close();
    await this.#books.close();
  }
}

export function newKey(change: Partial<NewKey> = {}): NewKey {
  const id = randomUUID();
  return {
    id,
    mode: 'credit',
    label: null,
    providerScope: 'all',
    models: null,
    rpmLimit: null,
    tpmLimit: null,
    parallelLimit: null,
    runsLimit: null,
    outputLimit: null,
    addresses: null,
    expiresAtMs: null,
    budget: null,
    period: 'month',
    accountId: null,
    cap: null,
    credit: 0n,
    secret: { digest: `digest-${id}`, prefix: 'mg_c_0000001' },
    ...change,
  };
}

export function newAccount(change: Partial<NewAccount> = {}): NewAccount {
  return {
    id: randomUUID(),
    parentId: null,
    name: 'account',
    externalId: null,
    labels: {},
    rpmLimit: null,
    creditCap: null,
    tokenCap: null,
    ...change,
  };
}

export function admitRequest(
  keyId: string,
  holdId: string,
  amount: bigint,
  change: Partial<AdmitRequest> = {},
): AdmitRequest {
  return {
    keyId,
    keyVersion: 1,
    claim: null,
    hold: { id: holdId, amount, amountMin: amount, ttlMs: 600_000 },
    ...change,
  };
}

export function settleRequest(
  keyId: string,
  holdId: string,
  charge: bigint,
  change: Partial<SettleRequest> = {},
): SettleRequest {
  return {
    keyId,
    holdId,
    charge,
    usage: null,
    reply: null,
    noReplyReason: 'charged_incomplete',
    flag: null,
    ...change,
  };
}

export function usageRecord(change: Partial<UsageRecord> = {}): UsageRecord {
  return {
    requestId: 'req_1',
    model: 'sandbox/alpha',
    provider: 'sandbox-a',
    format: 'chat',
    streamed: false,
    outcome: 'complete',
    source: 'reported',
    tokens: { input: 10, cacheRead: 3, cacheWrite: 2, cacheWrite1h: 1, output: 20, reasoning: 5 },
    costNanos: 7n,
    providerCostNanos: 5n,
    attempts: 1,
    firstByteMs: 120,
    durationMs: 812,
    ...change,
  };
}
