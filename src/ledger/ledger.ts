/** The ledger's port on top of any store. */
import { randomUUID } from 'node:crypto';
import type { RolledUp } from '../core/usage-report.ts';
import { StoreError } from '../storage/errors.ts';
import type { LedgerStats } from './group-commit/batch-stats.ts';
import type { BatcherOptions } from './group-commit/batcher.ts';
import { GroupCommit, type OperationRunner } from './group-commit/group-commit.ts';
import { type MethodsOf, operationFor } from './operation.ts';
import { type Operation, PORT_OPERATIONS, type Pruned, type Recovered } from './operations.ts';
import { OrphanedHolds } from './orphaned-holds.ts';
import type { AdmitOutcome, AdmitRequest, Ledger, LedgerAdmin } from './port.ts';
import type { Store } from './store.ts';

export interface LeaseOptions {
  /** How long this owner counts as living after its last heartbeat. */
  readonly leaseMs?: number;
  /** Whether other processes may have the store open too. */
  readonly shared?: boolean;
}

interface LedgerOptions extends LeaseOptions, BatcherOptions {}

/** What the process that holds a ledger does besides serving: it stays alive, and cleans up after those that did not. */
export interface OwnedLedger extends Ledger, LedgerAdmin {
  readonly leaseMs: number;
  readonly shared: boolean;
  /** Registers this process as an owner of holds. The first admission does it too. */
  register(): Promise<void>;
  /** Renews the lease; registers again where it was lost. Returns how much of the store's time has passed since the last one. */
  heartbeat(): Promise<number>;
  /** Ends holds of dead owners and holds past their expiry, a bounded number at a time. */
  recover(): Promise<Recovered>;
  /** Adds charges to the rollups of the usage reports, a bounded number at a time. */
  rollUp(): Promise<RolledUp>;
  prune(usageKeepMs: number | null): Promise<Pruned>;
  /** How its batches do. */
  stats(): Promise<LedgerStats>;
}

const LEASE_MS = 15_000;
const RECOVER_STEP = 200;
const PRUNE_STEP = 500;
const ROLLUP_STEP = 2_000;

export function createLedger(store: Store, options: LedgerOptions = {}): OwnedLedger {
  return createLedgerOn(new GroupCommit(store, options), { shared: store.shared === true, ...options });
}

export function createLedgerOn(operations: OperationRunner, options: LeaseOptions = {}): OwnedLedger {
  const { leaseMs = LEASE_MS, shared = false } = options;
  const orphaned = new OrphanedHolds(async ({ holdId, keyId, runId }) => {
    // In this order: a run does not outlive its hold.
    const end = runId === undefined ? null : ({ id: runId, status: 'lost', events: [] } as const);
    if (end !== null) await operations.run<'endRun'>({ op: 'endRun', keyId, end });
    return operations.run<'void'>({ op: 'void', keyId, holdId });
  });
  let owner = randomUUID();
  let registration: Promise<void> | null = null;
  let leaseUntilMs: number | null = null;

  /** A new epoch each time: holds of an epoch that was declared dead never belong to anybody again. */
  function register(): Promise<void> {
    registration ??= (async () => {
      try {
        const epoch = randomUUID();
        await operations.run<'registerOwner'>({ op: 'registerOwner', owner: epoch, leaseMs });
        owner = epoch;
      } finally {
        registration = null;
      }
    })();
    return registration;
  }

  function admitNow(request: AdmitRequest): AdmitOutcome | null {
    if (request.hold !== null) orphaned.remove(request.hold.id);
    const outcome = operations.now<'admit'>({ op: 'admit', owner, request });
    return outcome?.kind === 'owner_lost' ? null : outcome;
  }

  async function admit(request: AdmitRequest): Promise<AdmitOutcome> {
    const now = admitNow(request);
    if (now !== null) return now;
    try {
      const outcome = await operations.run<'admit'>({ op: 'admit', owner, request });
      if (outcome.kind !== 'owner_lost') return outcome;
      await register();
      const second = await operations.run<'admit'>({ op: 'admit', owner, request });
      if (second.kind === 'owner_lost') throw new StoreError('this process cannot keep its lease on the store');
      return second;
    } catch (error) {
      const { keyId, hold } = request;
      if (hold !== null) orphaned.add({ holdId: hold.id, keyId, runId: hold.run?.id });
      throw error;
    }
  }

  return {
    ...methodsOn(operations),
    leaseMs,
    shared,
    register,
    admit,
    admitNow,
    heartbeat: async () => {
      const outcome = await operations.run<'heartbeat'>({ op: 'heartbeat', owner, leaseMs });
      if (outcome.kind === 'owner_lost') {
        leaseUntilMs = null;
        await register();
        return Number.POSITIVE_INFINITY;
      }
      const sinceMs = outcome.untilMs - (leaseUntilMs ?? outcome.untilMs);
      leaseUntilMs = outcome.untilMs;
      return sinceMs;
    },
    recover: () => operations.run<'recover'>({ op: 'recover', limit: RECOVER_STEP }),
    rollUp: () => operations.run<'rollUp'>({ op: 'rollUp', limit: ROLLUP_STEP }),
    prune: (usageKeepMs) => operations.run<'prune'>({ op: 'prune', limit: PRUNE_STEP, usageKeepMs }),

    stats: () => operations.stats(),

    mark: (mark) => operations.mark(mark),
    // Every request settles: it is spared the way through the table.
    settle: (request) => operations.run<'settle'>({ op: 'settle', request }),
    deleteResponse: async (keyId, id) => {
      const { kind } = await operations.run<'deleteResponse'>({ op: 'deleteResponse', keyId, id });
      return kind === 'deleted';
    },
    ping: async () => {
      await operations.run<'ping'>({ op: 'ping' });
    },
    close: () => {
      orphaned.close();
      return operations.close();
    },
  };
}

/** Each operation of the table under its name. */
function methodsOn(operations: OperationRunner): MethodsOf<typeof PORT_OPERATIONS> {
  const methods = Object.entries(PORT_OPERATIONS).map(([op, row]) => [
    op,
    (...args: unknown[]) => operations.run(operationFor(op, row, args) as Operation),
  ]);
  // Every name has its method, which takes what the row says.
  return Object.fromEntries(methods) as MethodsOf<typeof PORT_OPERATIONS>;
}
