/** The ledger's port on top of any store. */
import { randomUUID } from 'node:crypto';
import { StoreError } from './errors.ts';
import { Batcher, type BatcherOptions } from './group-commit/batcher.ts';
import type { Pruned, Recovered } from './operations.ts';
import { OrphanedHolds } from './orphaned-holds.ts';
import type { AdmitOutcome, AdmitRequest, Ledger, LedgerAdmin } from './port.ts';
import type { Store } from './store.ts';

export interface LedgerOptions extends BatcherOptions {
  /** How long this owner counts as living after its last heartbeat. */
  readonly leaseMs?: number;
}

/** What the process that holds a ledger does besides serving: it stays alive, and cleans up after those that did not. */
export interface OwnedLedger extends Ledger, LedgerAdmin {
  readonly leaseMs: number;
  /** Registers this process as an owner of holds. The first admission does it too. */
  register(): Promise<void>;
  /** Moves the lease on; registers anew where it was lost. */
  heartbeat(): Promise<void>;
  /** Ends holds of dead owners and holds past their expiry, a bounded number at a time. */
  recover(): Promise<Recovered>;
  prune(usageKeepMs: number | null): Promise<Pruned>;
}

const LEASE_MS = 15_000;
const RECOVER_STEP = 200;
const PRUNE_STEP = 500;

export function createLedger(store: Store, options: LedgerOptions = {}): OwnedLedger {
  const batcher = new Batcher(store, options);
  const background = store.background === undefined ? batcher : new Batcher(store.background, options);
  /** For what looks at all keys: a key can be revoked meanwhile. */
  const reports = store.background === undefined ? batcher : new Batcher(store.background, options);
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const orphaned = new OrphanedHolds((hold) => batcher.run<'void'>({ op: 'void', ...hold }));
  let owner = randomUUID();
  let registration: Promise<void> | null = null;

  /** A new epoch each time: holds of an epoch that was declared dead are never taken up again. */
  function register(): Promise<void> {
    registration ??= (async () => {
      try {
        const epoch = randomUUID();
        await batcher.run<'registerOwner'>({ op: 'registerOwner', owner: epoch, leaseMs });
        owner = epoch;
      } finally {
        registration = null;
      }
    })();
    return registration;
  }

  function admitNow(request: AdmitRequest): AdmitOutcome | null {
    const outcome = batcher.now<'admit'>({ op: 'admit', owner, request });
    return outcome?.kind === 'owner_lost' ? null : outcome;
  }

  async function admit(request: AdmitRequest): Promise<AdmitOutcome> {
    const now = admitNow(request);
    if (now !== null) return now;
    try {
      const outcome = await batcher.run<'admit'>({ op: 'admit', owner, request });
      if (outcome.kind !== 'owner_lost') return outcome;
      await register();
      const second = await batcher.run<'admit'>({ op: 'admit', owner, request });
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
    admitNow,
    admit,
    heartbeat: async () => {
      const { kind } = await batcher.run<'heartbeat'>({ op: 'heartbeat', owner, leaseMs });
      if (kind === 'owner_lost') await register();
    },
    recover: () => batcher.run<'recover'>({ op: 'recover', limit: RECOVER_STEP }),
    prune: (usageKeepMs) => batcher.run<'prune'>({ op: 'prune', limit: PRUNE_STEP, usageKeepMs }),

    findKey: (digest) => batcher.run<'findKey'>({ op: 'findKey', digest }),
    extend: (holdId, keyId, amount) => batcher.run<'extend'>({ op: 'extend', holdId, keyId, amount }),
    mark: (mark) => batcher.mark(mark),
    settle: (request) => {
      batcher.dropMark(request.holdId);
      return batcher.run<'settle'>({ op: 'settle', request });
    },
    void: (holdId, keyId) => {
      batcher.dropMark(holdId);
      return batcher.run<'void'>({ op: 'void', holdId, keyId });
    },
    summary: (keyId) => batcher.run<'summary'>({ op: 'summary', keyId }),
    ping: async () => {
      await batcher.run<'ping'>({ op: 'ping' });
    },
    close: async () => {
      orphaned.close();
      await Promise.all([background.close(), reports.close()]);
      await batcher.close();
    },

    createKey: (request) => background.run<'createKey'>({ op: 'createKey', request }),
    listKeys: () => reports.run<'listKeys'>({ op: 'listKeys' }),
    getKey: (keyId) => background.run<'getKey'>({ op: 'getKey', keyId }),
    changeKey: (keyId, change) => background.run<'changeKey'>({ op: 'changeKey', keyId, change }),
    addSecret: (keyId, digest, prefix) => background.run<'addSecret'>({ op: 'addSecret', keyId, digest, prefix }),
    revokeSecret: (keyId, prefix) => background.run<'revokeSecret'>({ op: 'revokeSecret', keyId, prefix }),
    addCredit: (keyId, entryId, amountNanos, note) =>
      background.run<'addCredit'>({ op: 'addCredit', keyId, entryId, amountNanos, note }),
    getDocument: (name) => background.run<'getDocument'>({ op: 'getDocument', name }),
    putDocument: async (name, value) => {
      await background.run<'putDocument'>({ op: 'putDocument', name, value });
    },
    audit: () => reports.run<'audit'>({ op: 'audit' }),
  };
}
