/** What a serving process does in the background: it keeps its lease, recovers what others left, and prunes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreBrokenError } from '../storage/errors.ts';
import type { OwnedLedger } from './ledger.ts';

const RECOVER_INTERVAL_MS = 5_000;
const ROLL_UP_INTERVAL_MS = 10_000;
/** Between two steps, so that what is being caught up takes a small part of the time. */
const ROLL_UP_PAUSE_MS = 10;

interface MaintenanceOptions {
  readonly recoverIntervalMs?: number;
  readonly pruneIntervalMs?: number;
  readonly rollUpIntervalMs?: number;
  /** How long usage records are kept; null keeps them for ever. Totals and rollups never shrink. */
  readonly usageKeepMs?: () => number | null;
  /** Monotonic. */
  readonly nowMs?: () => number;
  /** Called with each failure of the store; the step is tried again at its next turn. */
  readonly onError?: (error: unknown) => void;
}

interface Maintenance {
  /** Whether the store took the last background step that it needs to go on serving. */
  readonly healthy: boolean;
  /** Resolves when it has come to rest. */
  stop(): Promise<void>;
}

/**
 * Registers the process and recovers what dead owners left behind, then goes on in the background. In a shared store the first
 * recovery comes a lease later: until just now the store may have been away for everybody.
 */
export async function startMaintenance(ledger: OwnedLedger, options: MaintenanceOptions = {}): Promise<Maintenance> {
  await ledger.register();
  if (!ledger.shared) await recoverAll(ledger);

  const nowMs = options.nowMs ?? (() => performance.now());
  let recoverFromMs = ledger.shared ? nowMs() + ledger.leaseMs : 0;
  let stopped = false;
  let healthy = true;

  /**
   * Where heartbeats did not reach the store, because it was away, the machine was suspended or the store's clock has jumped, those
   * of other processes may not have either, and the first one to reach it again would find them all dead: they get the time of a
   * lease to renew theirs.
   */
  async function heartbeat(): Promise<void> {
    if ((await ledger.heartbeat()) > ledger.leaseMs / 2) recoverFromMs = nowMs() + ledger.leaseMs;
  }
  const running = new Set<Promise<void>>();
  const timers = [
    every(ledger.leaseMs / 3, heartbeat),
    // The heartbeat goes ahead: a process that woke up late does not declare itself dead.
    every(options.recoverIntervalMs ?? Math.min(RECOVER_INTERVAL_MS, ledger.leaseMs), async () => {
      await heartbeat();
      if (nowMs() >= recoverFromMs) await recoverAll(ledger);
    }),
    every(options.pruneIntervalMs ?? 60_000, async () => {
      while (!stopped && (await ledger.prune(options.usageKeepMs?.() ?? null)).more);
    }),
    // Reports count what is not rolled up as well: a failure delays nothing but this, and says nothing about the store.
    every(
      options.rollUpIntervalMs ?? ROLL_UP_INTERVAL_MS,
      async () => {
        while (!stopped && (await ledger.rollUp()).more) await sleep(ROLL_UP_PAUSE_MS);
      },
      false,
    ),
  ];

  function every(intervalMs: number, step: () => Promise<void>, vital = true): NodeJS.Timeout {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      const run = step()
        .then(() => {
          if (vital) healthy = true;
        })
        .catch((error: unknown) => {
          if (vital) healthy = false;
          // Whoever opened the store was notified once for all.
          if (!(error instanceof StoreBrokenError)) options.onError?.(error);
        })
        .finally(() => {
          busy = false;
          running.delete(run);
        });
      running.add(run);
    }, intervalMs);
    timer.unref();
    return timer;
  }

  return {
    get healthy() {
      return healthy;
    },
    stop: async () => {
      stopped = true;
      for (const timer of timers) clearInterval(timer);
      await Promise.all(running);
    },
  };
}

/** Recovers until nothing is left to recover. */
export async function recoverAll(ledger: Pick<OwnedLedger, 'recover'>): Promise<void> {
  while ((await ledger.recover()).more);
}
