/** The ledger's port on top of any store. */
import { randomUUID } from 'node:crypto';
import type { RolledUp } from '../core/usage-report.ts';
import { StoreError } from './errors.ts';
import type { LedgerStats } from './group-commit/batch-stats.ts';
import type { BatcherOptions } from './group-commit/batcher.ts';
import { GroupCommit } from './group-commit/group-commit.ts';
import type { Pruned, Recovered } from './operations.ts';
import { OrphanedHolds } from './orphaned-holds.ts';
import type { AdmitOutcome, AdmitRequest, Ledger, LedgerAdmin } from './port.ts';
import type { OperationRunner, Store } from './store.ts';

export interface LeaseOptions {
  /** How long this owner counts as living after its last heartbeat. */
  readonly leaseMs?: number;
}

export interface LedgerOptions extends LeaseOptions, BatcherOptions {}

/** What the process that holds a ledger does besides serving: it stays alive, and cleans up after those that did not. */
export interface OwnedLedger extends Ledger, LedgerAdmin {
  readonly leaseMs: number;
  /** Registers this process as an owner of holds. The first admission does it too. */
  register(): Promise<void>;
  /** Renews the lease; registers again where it was lost. */
  heartbeat(): Promise<void>;
  /** Ends holds of dead owners and holds past their expiry, a bounded number at a time. */
  recover(): Promise<Recovered>;
  /** Adds charges to the rollups of the usage reports, a bounded number at a time. */
  rollUp(): Promise<RolledUp>;
  prune(usageKeepMs: number | null): Promise<Pruned>;
  /** How its batches do; null where another thread has them. */
  stats(): Promise<LedgerStats>;
}

const LEASE_MS = 15_000;
const RECOVER_STEP = 200;
const PRUNE_STEP = 500;
const ROLLUP_STEP = 2_000;

/** A ledger on a store of this thread. */
export function createLedger(store: Store, options: LedgerOptions = {}): OwnedLedger {
  return createLedgerOn(new GroupCommit(store, options), options);
}

export function createLedgerOn(operations: OperationRunner, options: LeaseOptions = {}): OwnedLedger {
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const orphaned = new OrphanedHolds((hold) => operations.run<'void'>({ op: 'void', ...hold }));
  let owner = randomUUID();
  let registration: Promise<void> | null = null;

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

  /** The outcome where memory alone can decide; null where it cannot, and nothing was done. */
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
      if (request.hold !== null) orphaned.add({ holdId: request.hold.id, keyId: request.keyId });
      throw error;
    }
  }

  return {
    leaseMs,
    register,
    admit,
    heartbeat: async () => {
      const { kind } = await operations.run<'heartbeat'>({ op: 'heartbeat', owner, leaseMs });
      if (kind === 'owner_lost') await register();
    },
    recover: () => operations.run<'recover'>({ op: 'recover', limit: RECOVER_STEP }),
    rollUp: () => operations.run<'rollUp'>({ op: 'rollUp', limit: ROLLUP_STEP }),
    prune: (usageKeepMs) => operations.run<'prune'>({ op: 'prune', limit: PRUNE_STEP, usageKeepMs }),

    stats: () => operations.stats(),

    findKey: (digest) => operations.run<'findKey'>({ op: 'findKey', digest }),
    extend: (request) => operations.run<'extend'>({ op: 'extend', ...request }),
    mark: (mark) => operations.mark(mark),
    settle: (request) => operations.run<'settle'>({ op: 'settle', request }),
    void: (holdId, keyId) => operations.run<'void'>({ op: 'void', holdId, keyId }),
    summary: (keyId) => operations.run<'summary'>({ op: 'summary', keyId }),
    getResponse: (keyId, id) => operations.run<'getResponse'>({ op: 'getResponse', keyId, id }),
    findChain: (id, renewal) => operations.run<'findChain'>({ op: 'findChain', id, renewal }),
    findItems: (itemIds, renewal) => operations.run<'findItems'>({ op: 'findItems', itemIds, renewal }),
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

    createKey: (request) => operations.run<'createKey'>({ op: 'createKey', request }),
    createKeys: (requests) => operations.run<'createKeys'>({ op: 'createKeys', requests }),
    listKeys: (query = {}) => operations.run<'listKeys'>({ op: 'listKeys', query }),
    keyIds: (accountId, below = false) => operations.run<'keyIds'>({ op: 'keyIds', accountId, below }),
    getKey: (keyId) => operations.run<'getKey'>({ op: 'getKey', keyId }),
    changeKey: (keyId, change) => operations.run<'changeKey'>({ op: 'changeKey', keyId, change }),
    addSecret: (keyId, digest, prefix) => operations.run<'addSecret'>({ op: 'addSecret', keyId, digest, prefix }),
    revokeSecret: (keyId, prefix) => operations.run<'revokeSecret'>({ op: 'revokeSecret', keyId, prefix }),
    addCredit: (keyId, entryId, amountNanos, note, details) =>
      operations.run<'addCredit'>({ op: 'addCredit', keyId, entryId, amountNanos, note, ...details }),
    createAccount: (request) => operations.run<'createAccount'>({ op: 'createAccount', request }),
    changeAccount: (accountId, change) => operations.run<'changeAccount'>({ op: 'changeAccount', accountId, change }),
    moveAccount: (accountId, parentId) => operations.run<'moveAccount'>({ op: 'moveAccount', accountId, parentId }),
    moveKey: (keyId, accountId) => operations.run<'moveKey'>({ op: 'moveKey', keyId, accountId }),
    joinAccount: (keyId, accountId, entryId) =>
      operations.run<'joinAccount'>({ op: 'joinAccount', keyId, accountId, entryId }),
    addAccountCredit: (accountId, entryId, amountNanos, note, details) =>
      operations.run<'addAccountCredit'>({ op: 'addAccountCredit', accountId, entryId, amountNanos, note, ...details }),
    correct: (request) => operations.run<'correct'>({ op: 'correct', request }),
    expiringKeys: (after, untilMs, limit) =>
      operations.run<'expiringKeys'>({ op: 'expiringKeys', after, untilMs, limit }),
    findCharge: (requestId) => operations.run<'findCharge'>({ op: 'findCharge', requestId }),
    promotions: (id) => operations.run<'promotions'>({ op: 'promotions', id }),
    statement: (id, sinceMs, untilMs) => operations.run<'statement'>({ op: 'statement', id, sinceMs, untilMs }),
    refund: (request) => operations.run<'refund'>({ op: 'refund', request }),
    getAccount: (accountId) => operations.run<'getAccount'>({ op: 'getAccount', accountId }),
    listAccounts: (query = {}) => operations.run<'listAccounts'>({ op: 'listAccounts', query }),
    getDocument: (name) => operations.run<'getDocument'>({ op: 'getDocument', name }),
    putDocument: async (name, value) => {
      await operations.run<'putDocument'>({ op: 'putDocument', name, value });
    },
    audit: () => operations.run<'audit'>({ op: 'audit' }),
    usageReport: (query) => operations.run<'usageReport'>({ op: 'usageReport', query }),
  };
}
