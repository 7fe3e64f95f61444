/** Which store a gateway uses: PostgreSQL where `DATABASE_URL` names one, otherwise the embedded store in the data folder. */
import { setTimeout as delay } from 'node:timers/promises';
import { storeFile } from '../admin/data-folder.ts';
import { installationSecret } from '../admin/secrets.ts';
import type { Settings } from '../config/config.ts';
import { createLedger, type OwnedLedger } from '../ledger/ledger.ts';
import { openInProcessStore } from '../ledger/sqlite/in-process-store.ts';
import { StoreLockedError } from '../storage/errors.ts';
import type { OnWait } from '../storage/postgres/migration.ts';

const LOCK_WAIT_MS = 2_000;
const LOCK_PAUSE_MS = 50;

export interface OpenedStore {
  readonly ledger: OwnedLedger;
  readonly installationSecret: string;
  /** Whether it falls to this process to make the first keys, where there are none. */
  claimFirstStart(): Promise<boolean>;
}

export async function openStore(
  settings: Settings,
  onBroken: (why: Error) => void,
  onWait: OnWait,
): Promise<OpenedStore> {
  const { dataDir, databaseUrl, leaseMs } = settings;
  if (databaseUrl !== null) return openShared(databaseUrl, settings, onWait);
  const secret = await installationSecret(dataDir, settings.installationSecret);
  const store = await whenUnlocked(() => openInProcessStore({ file: storeFile(dataDir), onBroken }));
  return { ledger: createLedger(store, { leaseMs }), installationSecret: secret, claimFirstStart: async () => true };
}

/** Any number of processes may have it open at once. */
export async function openShared(databaseUrl: string, settings: Settings, onWait: OnWait): Promise<OpenedStore> {
  const { installationSecret: given, leaseMs } = settings;
  if (settings.databaseDirectUrl !== null) {
    const { checkUpgrade, upgrade } = await import('./data/upgrade.ts');
    if ((await checkUpgrade(settings)).pending.length > 0) await upgrade(settings, onWait);
  }
  const { openPostgresStore } = await import('../ledger/postgres/store.ts');
  const store = await openPostgresStore({ url: databaseUrl, onWait });
  try {
    const secret = await store.sharedSecret(given);
    const ledger = createLedger(store, { leaseMs });
    return { ledger, installationSecret: secret, claimFirstStart: store.claimFirstStart };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** An operator's command holds the lock for a short time; another gateway keeps it. */
async function whenUnlocked<T>(open: () => T | Promise<T>): Promise<T> {
  for (const untilMs = performance.now() + LOCK_WAIT_MS; ; await delay(LOCK_PAUSE_MS)) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StoreLockedError) || performance.now() > untilMs) throw error;
    }
  }
}
